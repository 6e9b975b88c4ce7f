// Fetches the public Bolt samples that test/transports/slack/bolt-public.test.ts compares, at the
// commits listed there.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { COMMITS, pathOf, SAMPLES } from '../test/transports/slack/bolt-public-samples.ts'

/** The packages that the samples and their TypeScript configurations need. */
const PACKAGES = ['@slack/bolt@5', 'dotenv', 'openai', 'typescript@5', '@types/node', '@tsconfig/node20']

const [target] = process.argv.slice(2)
if (target === undefined) {
  console.error(
    'Usage: node ops/bolt-samples.ts FOLDER\n\nThen: BOLT_SAMPLES=FOLDER npm test -- test/transports/slack/bolt-public.test.ts',
  )
  process.exit(2)
}
const root = resolve(target)
const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: 'inherit' })

for (const [repository, commit] of Object.entries(COMMITS)) {
  const folder = join(root, repository.replace('/', '+'))
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, '.git'))) run('git', ['init', '--quiet'], folder)
  run('git', ['fetch', '--quiet', '--depth', '1', `https://github.com/${repository}`, commit], folder)
  run('git', ['checkout', '--quiet', '--force', commit], folder)
}
writeFileSync(join(root, 'package.json'), '{ "private": true }\n')
run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES], root)
// TypeScript samples that are compiled on their own (`alone.file`: the compiled file).
for (const { alone, ...sample } of SAMPLES.filter(({ alone }) => alone?.file)) {
  const folder = join(root, pathOf(sample))
  try {
    run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], folder)
  } catch (error) {
    // tsc reports an error if the types of a newer Bolt do not fit, but it writes the code anyway.
    if (!existsSync(join(folder, dirname(alone?.file ?? ''), 'app.js'))) throw error
  }
}
