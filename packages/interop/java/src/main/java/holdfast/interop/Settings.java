package holdfast.interop;

import java.util.HashMap;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * The command line: {@code --address redis://127.0.0.1:6379 [--cluster true] [--watchdog 30000] [--fair-wait 300000]
 * [--prefix p:]}.
 */
record Settings(Map<String, String> given) {
  static Settings parse(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      given.put(args[i], args[i + 1]);
    }
    return new Settings(given);
  }

  RedissonClient connect() {
    Config config = new Config();
    config.setLockWatchdogTimeout(number("--watchdog", config.getLockWatchdogTimeout()));
    config.setFairLockWaitTimeout(number("--fair-wait", config.getFairLockWaitTimeout()));
    if (given.containsKey("--prefix")) {
      config.setNameMapper(new PrefixMapper(given.get("--prefix")));
    }
    if (given.containsKey("--cluster")) {
      config.useClusterServers().addNodeAddress(given.get("--address"));
    } else {
      config.useSingleServer().setAddress(given.get("--address"));
    }
    return Redisson.create(config);
  }

  private long number(String key, long otherwise) {
    return given.containsKey(key) ? Long.parseLong(given.get(key)) : otherwise;
  }
}
