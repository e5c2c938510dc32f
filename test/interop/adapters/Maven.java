// The implementations of Maven as adapters (adapter.ts has the protocol): one attempt for each
// request. A Java program that has just started needs seconds for its first answer on a busy
// machine, so the limit of a command is long.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.jedis4.JedisLockProvider;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import redis.clients.jedis.JedisPool;

public class Maven {
  interface Implementation {
    boolean acquire(String name, long ttlMs) throws Exception;

    String extend(long ttlMs) throws Exception;

    void release() throws Exception;
  }

  static RedissonClient client(String url) {
    Config config = new Config();
    config.setThreads(2).setNettyThreads(2);
    config.useSingleServer().setAddress(url).setTimeout(10_000).setRetryAttempts(0)
        .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
    return Redisson.create(config);
  }

  /** RLock, RFencedLock and RedLock have one interface. A lock belongs to this thread. */
  record OfRedisson(java.util.function.Function<String, RLock> create, RLock[] held)
      implements Implementation {
    OfRedisson(java.util.function.Function<String, RLock> create) {
      this(create, new RLock[1]);
    }

    public boolean acquire(String name, long ttlMs) throws Exception {
      held[0] = create.apply(name);
      return held[0].tryLock(0, ttlMs, TimeUnit.MILLISECONDS);
    }

    /** There is none but the renewal of a lock without a ttl. */
    public String extend(long ttlMs) {
      return "none";
    }

    public void release() {
      held[0].unlock();
    }
  }

  static class ShedLock implements Implementation {
    private final JedisLockProvider provider;
    private SimpleLock held;

    ShedLock(String url) {
      provider = new JedisLockProvider(new JedisPool(URI.create(url)), "interop");
    }

    public boolean acquire(String name, long ttlMs) {
      var ttl = Duration.ofMillis(ttlMs);
      held = provider.lock(new LockConfiguration(Instant.now(), name, ttl, Duration.ZERO))
          .orElse(null);
      return held != null;
    }

    public String extend(long ttlMs) {
      var extended = held.extend(Duration.ofMillis(ttlMs), Duration.ZERO);
      extended.ifPresent(lock -> held = lock);
      return extended.isPresent() ? "yes" : "no";
    }

    public void release() {
      held.unlock();
    }
  }

  static Implementation named(String name, String[] urls) {
    if (name.equals("shedlock")) return new ShedLock(urls[0]);
    RedissonClient[] clients = Arrays.stream(urls).map(Maven::client)
        .toArray(RedissonClient[]::new);
    return switch (name) {
      case "redisson-lock" -> new OfRedisson(lock -> clients[0].getLock(lock));
      case "redisson-fenced-lock" -> new OfRedisson(lock -> clients[0].getFencedLock(lock));
      case "redisson-redlock" -> new OfRedisson(lock -> new RedissonRedLock(
          Arrays.stream(clients).map(client -> client.getLock(lock)).toArray(RLock[]::new)));
      default -> throw new IllegalArgumentException(name);
    };
  }

  static String answer(Implementation implementation, String[] words) throws Exception {
    if (words[0].equals("acquire")) {
      return implementation.acquire(words[1], Long.parseLong(words[2])) ? "yes" : "no";
    }
    if (words[0].equals("extend")) return implementation.extend(Long.parseLong(words[1]));
    implementation.release();
    return "yes";
  }

  public static void main(String[] words) throws Exception {
    var implementation = named(words[0], Arrays.copyOfRange(words, 1, words.length));
    System.out.println("ready");
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      try {
        System.out.println(answer(implementation, line.split(" ")));
      } catch (Exception error) {
        System.out.println("error " + error.toString().replaceAll("\\s+", " "));
      }
    }
    System.exit(0);
  }
}
