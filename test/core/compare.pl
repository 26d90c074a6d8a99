# Compares the output of PostgreSQL's own tests with what is expected, but for what a CScan may change.
#
#   perl compare.pl DIFFERENCES MAJOR SUITE TEST ...      prints "ok TEST" or "not ok TEST" and what differs
#   perl compare.pl --filter FILE                         prints a file as it is compared
#
# The working directory has expected/ (TEST.out, TEST_0.out ... TEST_9.out, any of which will do) and results/. Both sides are
# filtered:
#
#   - rows of a query without an ORDER BY of its own are sorted
#   - in plans a CScan is called what it takes the place of, its own lines are left out, and widths do not count, nor do those of
#     tabs in names; nor does it whether a child of a Parallel Append is itself parallel
#   - a plan with a CScan Aggregate is left out, since that may be another plan altogether
#   - what DIFFERENCES, which explains itself, says of this test
use strict;
use warnings;
use File::Basename;

my ($differences, $major, $suite, @tests) = @ARGV;
$suite //= '';

# Does the statement fix the order of its rows?
sub ordered
{
	my $sql = shift;
	$sql =~ s/--.*$//mg;
	$sql =~ s/'[^']*'//g;
	$sql =~ s/\s+$//;
	$sql =~ s/;$//;
	$sql =~ s/.*;[ \t]*\n//s;
	1 while $sql =~ s/\([^()]*\)//g;
	return $sql =~ /\border\s+by\b/i;
}

# Is it a plan?
sub plan
{
	my ($head, @rows) = @_;
	return $head =~ /QUERY PLAN/ || grep { /Scan\)? (on|using) |^ *-> |Node[ -]Type\W/ } @rows;
}

# Of a plan in any format: a CScan under the name of a Seq Scan, no lines of its own, no widths
sub plan_rows
{
	my @in = @_;
	my @out;
	my $workers;
	for (@in)
	{
		s/\s*\+?$//;
		if (defined $workers)
		{
			undef $workers if /^\Q$workers\E[\]<]/;
			next;
		}
		$workers = $1 if /^(\s*)"CScan Workers": \[$/;
		next if /^\s*["<]?CScan[- ]/ || /Custom[- ]Plan[- ]Provider/ || /^\s*Heap Blocks: /;
		s/,$//;
		s/(Node[- ]Type\W+)Custom Scan/$1Seq Scan/;

		# pg_overexplain has one range table index for a Seq Scan, a set of them for a Custom Scan
		s/\bScan([- ])RTIs\b/Scan$1RTI/g;
		s/("Scan RTI": )"(\d+)"/$1$2/;

		# psql fills up a tab in a name according to the column that it begins in
		s/("(?:[^"]|"")*")/$1 =~ s, +, ,gr/ge;
		push @out, $_;
	}

	# A node's kind is in its conditions, which come in core's order
	for my $i (0 .. $#out)
	{
		next unless $out[$i] =~ /^(\s*(?:->\s+)?(?:Parallel )?)(Custom Scan \(CScan\)|Bitmap Heap Scan) on /;
		my ($indent) = $out[$i] =~ /^(\s*(?:->\s+)?)/;
		my $end = $i;
		$end++ while $end < $#out && $out[ $end + 1 ] !~ /^\s*->/ && $out[ $end + 1 ] =~ /^(\s*)/ && length($1) > length($indent);
		my @of = @out[ $i + 1 .. $end ];
		my $kind = (grep { /^\s*Recheck Cond:/ } @of) ? 'Bitmap Heap Scan' : (grep { /^\s*TID Cond:/ } @of) ? 'Tid Range Scan' : 'Seq Scan';
		$kind = 'Bitmap Heap Scan' if $out[$i] =~ /Bitmap Heap Scan/;
		$out[$i] =~ s/Custom Scan \(CScan\)/$kind/;
		next if $kind eq 'Seq Scan';
		my %rank = ('Output' => 0, 'TID Cond' => 1, 'Recheck Cond' => 1, 'Rows Removed by Index Recheck' => 2, 'Filter' => 3, 'Rows Removed by Filter' => 4);
		my @rank = map { /^\s*([^:]+):/ && exists $rank{$1} ? $rank{$1} : 9 } @of;
		@out[ $i + 1 .. $end ] = @of[ sort { $rank[$a] <=> $rank[$b] || $a <=> $b } 0 .. $#of ];
	}

	# All processes read for a family, where core has some of its tables read by one alone
	for my $i (0 .. $#out)
	{
		next unless $out[$i] =~ /^(\s*)(->  )?Parallel Append\b/;
		my ($indent, $child) = (length($1), length($1) + ($2 ? 6 : 2));
		for my $k ($i + 1 .. $#out)
		{
			last if $out[$k] =~ /^(\s*)/ && length($1) <= $indent;
			$out[$k] =~ s/^(\s{$child}->  )Parallel ((?:Seq|Bitmap Heap) Scan on )/$1$2/;
		}
	}
	return @out;
}

# Are these the first two lines of a result?
sub heads
{
	my ($head, $line) = @_;
	return 0 if $line !~ /^-[-+]*$/ || $head =~ /^\s*--/ || length($head) != length($line) && $head ne '';
	$head =~ s/[^|]/-/g;
	$line =~ s/\+/|/g;
	return $line eq $head || $line !~ /\|/;
}

# filter(TEXT, RULES, SKIPPED): the text as it is compared; results of these numbers are left out. FOUND gets the numbers of plans with CScan
# Aggregates.
sub filter
{
	my ($text, $rules, $skipped, $found) = @_;
	my $number = 0;
	my @in = split /\n/, $text;
	my $isolation = $text =~ /^Parsed test spec with /m;
	my (@out, $sql);
	$sql = '';
	for (my $i = 0; $i < @in; $i++)
	{
		my $line = $in[$i];
		if ($i + 1 < @in && heads($line, $in[ $i + 1 ]))
		{
			my $end = $i + 2;
			$end++ while $end < @in && $in[$end] =~ ($isolation ? qr/^(?!step |\(\d+ rows?\)$)./ : qr/^ /);
			if ($end < @in && $in[$end] =~ /^\(\d+ rows?\)$/)
			{
				my @rows = @in[ $i + 2 .. $end - 1 ];
				my $what = grep { $_->{kind} eq 'order' && $sql =~ $_->{re} } @$rules;
				$number++;
				push @$found, $number if $found && plan($line, @rows) && grep { /CScan Aggregate/ } @rows;
				if ($skipped->{$number} || grep { $_->{kind} eq 'any' && $sql =~ $_->{re} } @$rules)
				{
					push @out, '(left out)';
				}
				elsif (plan($line, @rows))
				{
					$line =~ s/^\s+|\s+$//g;
					push @out, $line, plan_rows(@rows);
				}
				else
				{
					@rows = sort @rows unless ordered($sql) && !$what;
					push @out, $line, $in[ $i + 1 ], @rows, $in[$end];
				}
				$i = $end;
				$sql = '';
				next;
			}
		}
		# Plans without headings
		$line =~ s/Custom Scan \(CScan\) on/Seq Scan on/ if $line =~ /^ /;
		push @out, $line unless $line =~ /^ +CScan [A-Z][A-Za-z -]*: / || grep { $_->{kind} eq 'line' && $line =~ $_->{re} } @$rules;
		$sql .= "$line\n";
	}
	for my $re (map { $_->{re} } grep { $_->{kind} eq 'notices' } @$rules)
	{
		for (my $i = 0; $i < @out; $i++)
		{
			my $end = $i;
			$end++ while $end < @out && $out[$end] =~ $re;
			@out[ $i .. $end - 1 ] = sort @out[ $i .. $end - 1 ];
			$i = $end;
		}
	}
	return map { "$_\n" } @out;
}

sub slurp
{
	my $file = shift;
	open(my $fh, '<', $file) or return;
	local $/;
	return scalar <$fh>;
}

sub spew
{
	my ($file, @lines) = @_;
	open(my $fh, '>', $file) or die "$file: $!\n";
	print $fh @lines;
	close $fh;
}

if (@ARGV && $ARGV[0] eq '--filter')
{
	print filter(slurp($ARGV[1]), [], {});
	exit 0;
}

my $bad = 0;

# The rules of all tests: suite/test -> { why, rules }
my (%rules, $current);
for (split /\n/, slurp($differences) // '')
{
	next if /^\s*(#|$)/;
	if (/^(\w+\/\S+)\s+([\d ]+|all)$/)
	{
		my ($test, $majors) = ($1, $2);
		$current = { why => [], rules => [] };
		$rules{$test} = $current if $majors eq 'all' || " $majors " =~ / $major /;
	}
	elsif (/^\s+(order|any|line|notices)\s+(\S.*)$/) { push @{ $current->{rules} }, { kind => $1, re => qr/$2/ } }
	elsif (/^\s+diff\s+(\S+)$/) { $current->{diff} = $1 }
	elsif (/^\s+because\s+(\S.*)$/ || @{ $current->{why} } && /^\s+(\S.*)$/) { push @{ $current->{why} }, $1 }
	else { die "$differences: cannot read: $_\n" }
}

# What differs, with so many lines around it, without names and numbers that change
sub differences
{
	my ($file, $got, $context, $rules) = @_;
	my @aggregates;
	filter($got, $rules, {}, \@aggregates);
	my %skipped = map { $_ => 1 } @aggregates;
	spew('got.filtered', filter($got, $rules, \%skipped));
	spew('expected.filtered', filter(slurp($file), $rules, \%skipped));
	my $diff = `diff -U$context expected.filtered got.filtered`;
	$diff =~ s/\A---.*\n\+\+\+.*\n//;
	$diff =~ s/^@@.*$/@@/mg;
	return $diff;
}

for my $test (@tests)
{
	my $got = slurp("results/$test.out");
	if (!defined $got)
	{
		print "not ok $test: it did not run\n";
		$bad = 1;
		next;
	}
	my @expected = grep { -e } "expected/$test.out", (map { "expected/${test}_$_.out" } 0 .. 9), "baseline/$test.out";
	if (grep { slurp($_) eq $got } @expected)
	{
		print "ok $test\n";
		next;
	}
	my $of = $rules{"$suite/$test"} // { why => [], rules => [] };
	my ($best, $how);
	for my $file (@expected)
	{
		if (differences($file, $got, 0, []) eq '') { $how = 'filtered'; last }
		my $diff = differences($file, $got, 0, $of->{rules});
		my $known = $of->{diff} ? slurp(dirname($differences) . "/$of->{diff}") // '' : '';
		if ($diff eq $known) { $how = "explained: @{$of->{why}}"; last }
		spew("results/$test.diff", $diff) if $file eq "expected/$test.out";
		$diff = differences($file, $got, 3, $of->{rules});
		$best = $diff if !defined $best || length($diff) < length($best);
	}
	if ($how) { print "ok $test # $how\n" }
	else
	{
		print "not ok $test\n$best";
		$bad = 1;
	}
}
exit $bad;
