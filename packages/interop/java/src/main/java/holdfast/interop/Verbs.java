package holdfast.interop;

import org.redisson.api.RedissonClient;

/** Who answers a command: the kind says. */
final class Verbs {
  private final LockVerbs locks;
  private final SemaphoreVerbs semaphores;
  private final PermitVerbs permits;
  private final LatchVerbs latches;

  Verbs(RedissonClient redisson) {
    this.locks = new LockVerbs(redisson);
    this.semaphores = new SemaphoreVerbs(redisson);
    this.permits = new PermitVerbs(redisson);
    this.latches = new LatchVerbs(redisson);
  }

  Object run(Command command) throws Exception {
    return switch (command.kind()) {
      case "semaphore" -> semaphores.run(command);
      case "permits" -> permits.run(command);
      case "latch" -> latches.run(command);
      default -> locks.run(command);
    };
  }
}
