// `npm run bench`: measures Trivium and what it is compared with in the same run. See
// docs/performance.md.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { createBench, type Line, type StoreName } from './lib/bench.ts'
import { checkOut } from './lib/other-commit.ts'
import { rows } from './rows/index.ts'
import { isReached, renderTable } from './table.ts'

/** The rows with targets relative to something else that is measured in the same run. */
const AIMS = ['accept', 'dispatch', 'queue', 'push', 'latency', 'memory']

const USAGE = `Usage: npm run bench -- [row … | aims] [options]

  --quick            three short rounds, smaller backlogs, no appendfsync always: two to three minutes
  --rounds <n>       rounds that count (default 5, quick 3, with --against 15)
  --seconds <n>      how long a round loads each contender (default 3, quick 0.6, with --against 1.5)
  --store <name>     only this store; may be repeated: embedded, everysec, always
  --against <commit> compare with another commit of this repository; exits with 1 if this one is 5 % slower
  --json             figures for machines on standard output
  --list             name the rows

Rows: ${rows.map(({ name }) => name).join(', ')}.
aims: ${AIMS.join(', ')}, without appendfsync always; a quarter of an hour on a quiet machine`

const STORES: Record<string, StoreName> = {
  embedded: 'embedded',
  everysec: 'redis everysec',
  always: 'redis always',
}

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    store: { type: 'string', multiple: true },
    against: { type: 'string' },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const asksForAims = names.includes('aims')
const requestedRows = names.flatMap((name) => (name === 'aims' ? AIMS : name))
const unknown = [
  ...requestedRows.filter((name) => !rows.some((row) => row.name === name)),
  ...(values.store ?? []).filter((name) => !Object.hasOwn(STORES, name)),
]
if (unknown.length > 0 || values.help) {
  console.error(unknown.length > 0 ? `There is no ${unknown.join(', no ')}.\n\n${USAGE}` : USAGE)
  process.exit(unknown.length > 0 ? 2 : 0)
}
/** The rows that can measure another commit. */
const COMPARABLE = ['accept', 'accept+dispatch', 'dispatch']
const incomparable =
  values.against === undefined ? [] : requestedRows.filter((name) => !COMPARABLE.includes(name))
if (incomparable.length > 0) {
  console.error(`--against measures ${COMPARABLE.join(', ')}, not ${incomparable.join(', ')}.`)
  process.exit(2)
}
for (const name of ['rounds', 'seconds'] as const) {
  const value = values[name]
  if (value === undefined || Number(value) > 0) continue
  console.error(`--${name} needs a number above 0, not ${value}.`)
  process.exit(2)
}
if (values.list) {
  for (const { name, title } of rows) console.log(`${name.padEnd(16)} ${title}`)
  process.exit(0)
}

const other = values.against === undefined ? undefined : checkOutOrExit(values.against)
process.on('exit', () => other?.remove())
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
const defaults = defaultLoad()
const options = {
  against: other,
  stores: (values.store ?? defaultStores()).flatMap((name) => STORES[name] ?? []),
  quick: values.quick,
  rounds: Number(values.rounds ?? defaults.rounds),
  seconds: Number(values.seconds ?? defaults.seconds),
}
const selection = requestedRows.length === 0 && other ? COMPARABLE : requestedRows
const chosen = rows.filter(({ name }) => selection.length === 0 || selection.includes(name))
const lines: Line[] = []
const failures: string[] = []
for (const [index, row] of chosen.entries()) {
  const progress = (text: string) => showProgress(`${index + 1}/${chosen.length} ${row.name}: ${text}`)
  const { bench, cleanUp } = createBench({ ...options, progress })
  const addFailure = (error: unknown) => {
    failures.push(`${row.name}: ${error instanceof Error ? (error.stack ?? error.message) : error}`)
  }
  try {
    lines.push(...(await row.run(bench)))
  } catch (error) {
    addFailure(error)
  }
  progress('cleaning up')
  // The lines that are measured matter more than a failed clean-up.
  await cleanUp().catch(addFailure)
}
showProgress('')

const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'processor'}, Node ${process.versions.node}`
if (values.json) {
  const withVerdict = lines.map((line) => ({ ...line, reached: isReached(line) }))
  console.log(JSON.stringify({ machine, options, lines: withVerdict, failures }, null, 2))
} else {
  console.log(renderTable(lines))
  console.log(`${machine}; medians of ${options.rounds} interleaved rounds; server and load on a core each.`)
}
for (const failure of failures) console.error(failure)
const isSlower = lines.some(({ verdict }) => verdict === 'slower')
if (lines.some(({ verdict }) => verdict === 'undecided'))
  console.error('Undecided: the rounds differ too much. More --rounds, or a quiet machine, can decide.')
process.exit(failures.length > 0 || isSlower ? 1 : 0)

function checkOutOrExit(commit: string) {
  try {
    return checkOut(commit)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return process.exit(2)
  }
}

/** More and shorter rounds distinguish two commits better than a few long ones. */
function defaultLoad(): { rounds: number; seconds: number } {
  if (values.quick) return { rounds: 3, seconds: 0.6 }
  return other ? { rounds: 15, seconds: 1.5 } : { rounds: 5, seconds: 3 }
}

function defaultStores(): string[] {
  return Object.keys(STORES).filter((name) => !(values.quick || asksForAims) || name !== 'always')
}

function showProgress(text: string) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text.slice(0, process.stderr.columns - 1)}`)
  else if (text !== '') process.stderr.write(`${text}\n`)
}
