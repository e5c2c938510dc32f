<?php
// The implementations in PHP as adapters (adapter.ts has the protocol): one attempt for each
// request, and a second for each command of Redis. The libraries are in the folder that is named.
// They have no extension.

[, $name, $folder] = $argv;
$urls = array_slice($argv, 3);
/** The file of each, and its class: both came from one, and take the same words. */
$libraries = [
    'redlock-php' => ['ronnylt/redlock-php', 'RedLock'],
    'redlock-php-signe' => ['signe/redlock-php', 'RedLock\RedLock'],
];
[$repository, $class] = $libraries[$name];
require "$folder/$repository/src/RedLock.php";

ini_set('default_socket_timeout', '1');
$servers = array_map(fn ($url) => [parse_url($url)['host'], parse_url($url)['port'], 1], $urls);
$locks = new $class($servers, 1, 1);
$lock = false;

$answer = function (string $verb, array $words) use ($locks, &$lock): string {
    if ($verb === 'acquire') {
        $lock = false; // A library that throws leaves nothing to release.
        $lock = $locks->lock($words[0], (int) $words[1]);
        return $lock ? 'yes' : 'no';
    }
    if ($verb === 'extend') return 'none';
    if (!$lock) return 'no';
    $locks->unlock($lock);
    return 'yes';
};

// It connects with its first request only; the other checks want it connected by now.
$locks->unlock(['resource' => 'interop', 'token' => '']);
echo "ready\n";
while (($line = fgets(STDIN)) !== false) {
    $words = explode(' ', trim($line));
    try {
        echo $answer($words[0], array_slice($words, 1)), "\n";
    } catch (Throwable $error) {
        $text = get_class($error) . ': ' . $error->getMessage();
        echo 'error ', preg_replace('/\s+/', ' ', $text), "\n";
    }
}
