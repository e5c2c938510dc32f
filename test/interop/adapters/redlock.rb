# The implementations in Ruby as adapters (adapter.ts has the protocol): one attempt for each
# request. The libraries and the clients of Redis that they need are in the folder that is named.

NAME, FOLDER, *URLS = ARGV
$stdout.sync = true

def load_from(*paths)
  paths.each { |path| $LOAD_PATH.unshift(File.join(FOLDER, path)) }
end

# Those that acquire and release in the same way.
class Locks
  def acquire(name, ttl_ms)
    @lock = @locks.lock(name, ttl_ms)
  end

  def release
    return false unless @lock

    @locks.unlock(@lock)
    true
  end
end

# The first of all, by antirez. It has no extension, and a command has the five seconds of redis-rb.
class OfAntirez < Locks
  def initialize
    super
    load_from('redis/redis-rb/lib', 'antirez/redlock-rb')
    require 'redlock'
    @locks = Redlock.new(*URLS)
    @locks.set_retry(1, 1)
  end

  def extend(_ttl_ms)
    nil
  end
end

# The gem "redlock", which others took over from it.
class OfGem < Locks
  def initialize
    super
    paths = %w[mperham/connection_pool redis-rb/redis-client leandromoreira/redlock-rb]
    load_from(*paths.map { |path| "#{path}/lib" })
    require 'redlock'
    @locks = Redlock::Client.new(URLS, retry_count: 0, redis_timeout: 1)
  end

  def extend(ttl_ms)
    return false unless @lock

    @locks.lock(@lock[:resource], ttl_ms, extend: @lock, extend_only_if_locked: true)
  end
end

def answer(implementation, verb, words)
  case verb
  when 'acquire' then implementation.acquire(words[0], Integer(words[1]))
  when 'extend' then implementation.extend(Integer(words[0]))
  else implementation.release
  end
end

implementation = { 'redlock-rb' => OfAntirez, 'redlock-gem' => OfGem }.fetch(NAME).new
puts 'ready'
$stdin.each_line do |line|
  verb, *words = line.split
  begin
    done = answer(implementation, verb, words)
    puts(done.nil? ? 'none' : done ? 'yes' : 'no')
  rescue StandardError => e
    puts "error #{e.class}: #{e.message}".gsub(/\s+/, ' ')
  end
end
