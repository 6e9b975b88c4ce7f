#!/usr/bin/env node
// Runs the sources in a clone and the built files in an installed package (Node strips no types under
// node_modules). On a Node that is too old it hands over to the one that the clone brings.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const source = new URL('../src/main.ts', import.meta.url)
const main = existsSync(source) ? source : new URL('../dist/src/main.js', import.meta.url)
const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main.href)
} else if (existsSync(own)) {
  const { status } = spawnSync(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
} else {
  console.error(
    `Trivium needs Node 24 or newer; this is ${process.versions.node}. In a clone, run \`npm start\` once.`,
  )
  process.exit(2)
}
