# Redis::DistLock as an adapter (adapter.ts has the protocol): one attempt for each request. The
# library is in the folder that is named. It does not undo a failed attempt. So it is given a value
# of ours, by which its release removes what is left, as its manual shows.

use strict;
use warnings;

my ( $name, $folder, @urls ) = @ARGV;
unshift( @INC, "$folder/sbertrang/redis-distlock/lib" );
require Redis::DistLock;
$| = 1;

my $locks = Redis::DistLock->new(
    servers => [ map { m!^redis://([^/]+)! } @urls ],
    retry_count => 1,
    retry_delay => 0.001,
);
my ( $resource, $count ) = ( undef, 0 );

sub value { "adapter $$ $count" }

sub answer {
    my ( $verb, @words ) = @_;
    if ( $verb eq "acquire" ) {
        $resource = $words[0];
        $count += 1;
        return $locks->lock( $resource, $words[1] / 1_000, value() ) ? "yes" : "no";
    }
    return "no" if ! defined( $resource );
    return $locks->lock( $resource, $words[0] / 1_000, value(), 1 ) ? "yes" : "no"
        if $verb eq "extend";
    $locks->release( $resource, value() );
    return "yes";
}

print "ready\n";
while ( my $line = <STDIN> ) {
    my $reply = eval { answer( split( " ", $line ) ) };
    ( $reply = "error $@" ) =~ s/\s+/ /g if ! defined( $reply );
    print "$reply\n";
}
