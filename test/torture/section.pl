# The command of a run under torture. Each of its processes writes, again and again, that it is
# alive, and when by its own clock. Arguments: the log, the lock, the run, the shape, how many ms
# the work takes, the token, the fence and the form (s: shared, x: exclusive, or a slot); `bare`
# stands for a process that this program became.
# It ends by itself when the log is removed, or after a minute.
use POSIX ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

my ($log, $lock, $run, $shape, $work_ms, $token, $fence, $form, $bare) = @ARGV;
my $ownCode = 7;
open my $out, '>>', $log or exit 3;

sub now { clock_gettime(CLOCK_MONOTONIC) }

# One write with O_APPEND: lines of several processes do not mix.
sub note {
  my ($what) = @_;
  syswrite $out, sprintf "%.6f %s %s %s %s %s %d %s %s\n", now(), $what, $lock, $token, $fence,
    $run, $$, $shape, $form;
}

sub stay {
  my ($seconds) = @_;
  for (my $until = now() + $seconds; now() < $until && -e $log; sleep 0.01) { note('beat') }
}

# In a session of its own, without a parent.
sub detached(&) {
  my ($does) = @_;
  return if fork;
  POSIX::setsid();
  POSIX::_exit(0) if fork;
  $does->();
  POSIX::_exit(0);
}

sub child(&) {
  my ($does) = @_;
  return if fork;
  $does->();
  POSIX::_exit(0);
}

# Each link starts the next one and ends.
sub chain {
  my ($hop_ms, $founds) = @_;
  for (my $until = now() + 60; now() < $until && -e $log; ) {
    POSIX::_exit(0) if fork;
    POSIX::setsid() if $founds;
    note('beat');
    sleep $hop_ms / 1000;
  }
}

# `count` processes, each the child of the one before, in a session of its own, deaf.
sub nested {
  my ($count) = @_;
  $SIG{TERM} = 'IGNORE';
  for (1 .. $count) {
    my $child = fork;
    return rest() if $child;
    POSIX::setsid();
  }
  rest();
}

# Without a line, as long as the log is there.
sub rest {
  for (my $until = now() + 60; now() < $until && -e $log; ) { sleep 0.5 }
  POSIX::_exit(0);
}

# Busy loops that ignore TERM, as compilers and tests under a quota are.
sub busy {
  my ($count) = @_;
  $SIG{TERM} = 'IGNORE';
  for (1 .. $count) {
    child { for (my $until = now() + 60; now() < $until && -e $log; ) { 1 for 1 .. 100_000 } };
  }
}

my %children = (
  plain => sub { },
  deaf => sub { $SIG{$_} = 'IGNORE' for qw(TERM INT HUP) },
  daemon => sub { detached { stay(60) } },
  session => sub { child { $SIG{TERM} = 'IGNORE'; POSIX::setsid(); stay(60) } },
  stopped => sub { child { kill STOP => $$; stay(60) } },
  many => sub { for (1 .. 12) { child { $SIG{TERM} = 'IGNORE'; stay(60) } } },
  # No environment, and another program.
  bare => sub { detached { %ENV = (); exec {$^X} $^X, $0, @ARGV, 'bare' } },
  chain => sub { $SIG{TERM} = 'IGNORE'; detached { chain(2, 0) } },
  nested => sub { child { nested(300) } },
  wide => sub { $SIG{TERM} = 'IGNORE'; for (1 .. 1000) { child { POSIX::setsid(); rest() } } },
  forks => sub { $SIG{TERM} = 'IGNORE'; for (1 .. 4) { detached { chain(0, 0) } } },
  busy8 => sub { busy(8) },
  busy20 => sub { busy(20) },
  busy40 => sub { busy(40) },
  busy60 => sub { busy(60) },
  # A chain of which each link founds a session.
  hops => sub { $SIG{TERM} = 'IGNORE'; detached { chain(15, 1) } },
);

if ($bare) {
  stay(60);
  exit;
}
note('begin');
$children{$shape}->();
stay($work_ms / 1000);
note('end');
POSIX::_exit($ownCode);
