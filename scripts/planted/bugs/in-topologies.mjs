// Mistakes on clusters, with replicas, after a fail-over.
export const BUGS_IN_TOPOLOGIES = {
  'a lease counts that too few replicas have': {
    file: 'core/src/redis/script-command.ts',
    find: 'replicas < needed.acks',
    replace: 'replicas < 0',
    test: 'packages/core/test/redis/replicas.test.ts',
    only: 'lock: what too few replicas have is not given',
  },
  'what the primary says adds trust that no replica knows of': {
    file: 'core/src/entry/lease.ts',
    find: 'mayGrow: !session.options.replicas',
    replace: 'mayGrow: true',
    test: 'packages/core/test/redis/replicas.test.ts',
    only: 'renewals that too few have add no trust',
  },
  'another primary is taken for the same': {
    file: 'core/src/redis/primary-identity.ts',
    find: 'before !== undefined && (',
    replace: "before === '' && (",
    test: 'packages/core/test/redis/primary-change.test.ts',
    only: 'a lock that it does not have is lost at once',
  },
  'one script for all slots': {
    file: 'core/src/redis/script-dispatch.ts',
    find: 'if (!slotOf || commands.length === 1) {',
    replace: 'if (slotOf !== null) {',
    test: 'packages/core/test/redis/cluster.test.ts',
    only: 'what travels together is of one slot',
  },
  'locks of all slots are renewed together': {
    file: 'core/src/client/lease-store.ts',
    find: "this.runner.slotOf(lease.key) ?? ''",
    replace: "''",
    test: 'packages/core/test/redis/cluster.test.ts',
    only: 'leases are renewed slot by slot',
  },
}
