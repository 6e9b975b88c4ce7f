// npm test             everything
// npm test -- PATH…    only these test files or folders, without the checks
// npm run check        format, lint, types and house rules, without tests
// npm run test:chaos   the long crash tests
// npm run test:soak    an hour with everything switched on
//
// Options, after `--`:
// --name TEXT              selects tests by name
// --seed N, --seed random  other cases of the property tests
// --report                 lists the processor time of each file
// --jobs N                 how many files run at once
import { globSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { COMPILE_CACHE, trimCompileCache } from '../src/lib/compile-cache.ts'
import { runStep, steps } from './steps.ts'
import { ensureSystemPackages } from './system-packages.ts'
import { type Failed, repeatFailures } from './tests/failed.ts'
import { runTests } from './tests/run.ts'
import { makeRunFolders } from './tests/run-folders.ts'

const MINUTE = 60_000
/** Entries of the compile cache that are kept for the next run. */
const MAX_CACHED = 30_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    chaos: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    jobs: { type: 'string' },
    name: { type: 'string', multiple: true, default: [] },
    report: { type: 'boolean', default: false },
    seed: { type: 'string' },
    soak: { type: 'boolean', default: false },
  },
})
const isLong = values.chaos || values.soak
const isWholeRun = positionals.length === 0 && values.name.length === 0 && !isLong
const places = positionals.length > 0 ? positionals : defaultPlaces()
const files = find(places)
if (files.length === 0) {
  console.error(`There are no tests in ${places.join(', ')}.`)
  process.exit(2)
}
if (!values.check && !ensureSystemPackages()) process.exit(1)

// A developer's own settings must not reach the tests.
for (const key of Object.keys(process.env)) {
  if (key.startsWith('TRIVIUM_') || key === 'REDIS_URL') delete process.env[key]
}

// Test processes share a compile cache. Files in temporary folders add entries that are never used again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'trivium-tests', COMPILE_CACHE)
await trimCompileCache(process.env.NODE_COMPILE_CACHE, MAX_CACHED)

const removeFolders = makeRunFolders()
if (values.seed !== undefined) process.env.PROPERTY_SEED = values.seed

const limits = isLong
  ? { timeout: 120 * MINUTE, deadline: 150 * MINUTE }
  : { timeout: 5 * MINUTE, deadline: 30 * MINUTE }
const testOptions = {
  files,
  namePatterns: values.name,
  ...limits,
  jobs: Number(values.jobs) || undefined,
  isVerbose: isLong,
  printsUsage: values.report,
  retriesFailures: isWholeRun,
}
// In parallel: the slowest tests run first, and they mostly wait.
const [failedChecks, tests] = await Promise.all([isWholeRun ? runSteps() : [], runTests(testOptions)])
removeFolders()
const failed = [...failedChecks, ...tests.failed]
if (tests.flaky.length > 0) console.log(`\n${repeatFailures(tests.flaky, 'Passed only at the second try')}`)
console.log(failed.length === 0 ? 'All green.' : `\n${repeatFailures(failed)}`)
process.exit(failed.length === 0 ? 0 : 1)

function defaultPlaces(): string[] {
  if (values.chaos) return ['test/chaos/**/*.long.ts']
  if (values.soak) return ['test/soak/**/*.long.ts']
  return values.check ? ['test/*.test.ts'] : []
}

/** The checks of the tree, one after another. */
async function runSteps(): Promise<Failed[]> {
  const failed: Failed[] = []
  for (const step of steps) failed.push(...(await runStep(step)))
  return failed
}

/** Test files in the given files, folders and patterns; without any, all test files. */
function find(places: string[]): string[] {
  const patterns = places.length > 0 ? places.map(asPattern) : ['{test,src,transports,skills}/**/*.test.ts']
  return [...new Set(globSync(patterns).map((file) => resolve(file)))].sort()
}

function asPattern(place: string): string {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() ? `${place}/**/*.test.ts` : place
}
