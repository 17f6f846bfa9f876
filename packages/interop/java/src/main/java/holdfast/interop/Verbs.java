package holdfast.interop;

import org.redisson.api.RedissonClient;

/** Who answers a command: the kind says. */
final class Verbs {
  private final LockVerbs locks;
  private final SemaphoreVerbs semaphores;
  private final PermitVerbs permits;
  private final LatchVerbs latches;
  private final Load load;

  Verbs(RedissonClient redisson) {
    this.locks = new LockVerbs(redisson);
    this.semaphores = new SemaphoreVerbs(redisson);
    this.permits = new PermitVerbs(redisson);
    this.latches = new LatchVerbs(redisson);
    this.load = new Load(redisson);
  }

  Object run(Command command) throws Exception {
    return switch (command.kind()) {
      case "semaphore" -> semaphores.run(command);
      case "permits" -> permits.run(command);
      case "latch" -> latches.run(command);
      case "load" -> command.verb().equals("wait") ? load.wait(command) : load.run(command);
      default -> locks.run(command);
    };
  }
}
