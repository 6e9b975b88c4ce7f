// Runs `npm start`, `npm test` and the other npm scripts. It is the first thing that runs in a new
// clone, so it needs only Node 20 and no packages: it installs what is missing and starts the task
// with the pinned Node.
import { handOver } from '../bin/hand-over.js'
import { root, setUp } from './set-up.mjs'

const tasks = {
  start: ['bin/trivium.js', 'start'],
  test: ['ops/test.ts'],
  check: ['ops/test.ts', '--check'],
  chaos: ['ops/test.ts', '--chaos'],
  soak: ['ops/test.ts', '--soak'],
  bench: ['ops/bench/main.ts'],
  build: ['ops/build.ts'],
  docs: ['ops/docs.ts'],
  screenshots: ['ops/screenshots.ts'],
}

const [name = '', ...args] = process.argv.slice(2)
if (!Object.hasOwn(tasks, name)) {
  console.error(`Usage: node ops/run.mjs <${Object.keys(tasks).join('|')}> [arguments]`)
  process.exit(2)
}
process.chdir(root)
const node = await setUp()
handOver(node, [...tasks[name], ...args])
