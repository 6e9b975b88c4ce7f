#!/usr/bin/env node
// Runs the sources in a clone, and the built files in an installed package, since Node does not
// strip types under node_modules. On a Node that is too old, it hands over to the Node in
// node_modules of the clone.
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { handOver } from './hand-over.js'
import { knownFlags } from './known-flags.js'

const source = new URL('../src/main.ts', import.meta.url)
const main = existsSync(source) ? source : new URL('../dist/src/main.js', import.meta.url)
const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

const nodeVersion = Number(process.versions.node.split('.')[0])
/**
 * The newest Node that knows all flags below. The V8 of a later Node may have removed some, and
 * Node does not start with unknown flags.
 */
const TESTED_NODE = 26

/**
 * Helper threads of V8. More of them would mark the heap on the core of the event loop: pauses of
 * 60 ms on one core.
 */
const HELPERS = Math.min(Math.max(availableParallelism() - 1, 1), 4)
/**
 * A daemon runs for weeks. These flags, and what src/cli/start.ts sets, keep its memory 100 MB
 * lower at the same rate of messages.
 */
const DAEMON_FLAGS = [
  '--max-semi-space-size=6',
  // With pretenuring, once some messages have waited, V8 would put all messages into the old space,
  // where only a slow collection frees them.
  '--no-allocation-site-pretenuring',
  `--v8-pool-size=${HELPERS}`,
  // At the first load, V8 compiles a thousand functions. If a helper thread freed their memory, it
  // would be freed only once the helper gets the core: 20 MB that glibc keeps.
  '--no-maglev-destroy-on-background',
  // Free pages of the heap go back to the system immediately. The V8 of Node 24 has no such flag.
  ...(nodeVersion >= 26 ? ['--no-memory-pool'] : []),
]
// Read by glibc at the start of the daemon. glibc would raise a threshold that is not fixed when
// the start frees its buffers, and later buffers would leave gaps in the heap.
process.env.MALLOC_ARENA_MAX ??= '2'
process.env.MALLOC_MMAP_THRESHOLD_ ??= String(128 * 1024)
const isDaemon =
  commandIn(process.argv.slice(2)) === 'start' &&
  !process.execArgv.some((flag) => flag.includes('semi-space'))

// Scripts ask for the version often, and loading the commands takes longer than Node's own start.
const asksVersion = process.argv.length === 3 && ['--version', '-V'].includes(process.argv[2] ?? '')

if (asksVersion) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  console.log(version)
} else if (nodeVersion >= 24 && isDaemon) {
  const flags = nodeVersion > TESTED_NODE ? knownFlags(process.execPath, DAEMON_FLAGS) : DAEMON_FLAGS
  handOver(process.execPath, [...process.execArgv, ...flags, ...process.argv.slice(1)])
} else if (nodeVersion >= 24) {
  // The daemon trims this folder (src/lib/compile-cache.ts).
  module.enableCompileCache?.(join(tmpdir(), 'trivium-compile-cache'))
  await import(main.href)
} else if (existsSync(own)) {
  handOver(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)])
} else {
  console.error(
    `Trivium needs Node 24 or newer; this is ${process.versions.node}. In a clone, run \`npm start\` once.`,
  )
  process.exit(2)
}

/** The first word that is neither a global option nor its value. */
function commandIn(words) {
  const [first, ...others] = words
  if (!first?.startsWith('-')) return first
  return commandIn(['--config', '--data-dir'].includes(first) ? others.slice(1) : others)
}
