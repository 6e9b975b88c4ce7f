import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { readDotenv } from '../../config/environment.ts'
import { missingParts, type Needs } from '../../config/needed-parts.ts'
import { isDiskLow } from '../../core/disk-space.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type JsonObject, objectsIn } from '../../core/json.ts'
import { outdatedPackages, PART_NAMES, partMissing } from '../../core/parts.ts'
import { GIB } from '../../core/units.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { table } from '../../lib/text-table.ts'
import { PREFIX_FILE } from '../../runtime/prefix-skills.ts'
import { type AddCommand, type Environs, loadFor } from '../command.ts'
import { connectOrOpen } from '../connection.ts'
import { offerParts } from '../install-parts.ts'
import { needsFor, needsOf } from '../needs.ts'
import { show } from '../terminal.ts'

export const addDoctor: AddCommand = (program, context) => {
  program
    .command('doctor')
    .description('check Node, the configuration, the store and each gateway; says how to fix problems')
    .action(async () => {
      const environs = context.environs()
      // A configuration that cannot be read is a failed check below.
      await offerParts(await needsFor(environs).catch(() => ({})), context.terminal())
      const failed = (name: string) => (error: unknown) => [{ name, ok: false, detail: reasonOf(error) }]
      const checks: JsonObject[] = [
        { name: 'Node', ok: true, detail: process.versions.node },
        ...(await checkConfig(environs).catch(failed('configuration'))),
        ...(await checkDaemon(environs).catch(uncheckedWithoutPart).catch(failed('daemon'))),
      ]
      const ok = checks.every((check) => check.ok)
      show(context.terminal(), { ok, checks }, () => humanChecks(checks))
      if (!ok) context.exit(1)
    })
}

/**
 * The checks as a table. Details of several lines, such as an excerpt of routes.yaml, stay as they
 * are, below it.
 */
function humanChecks(checks: readonly JsonObject[]): string {
  const isLong = ({ detail }: JsonObject) => String(detail ?? '').includes('\n')
  const rows = checks.map((check) => [markOf(check), check.name, isLong(check) ? 'see below' : check.detail])
  const details = checks
    .filter(isLong)
    .map(({ name, detail }) => `\n${paint('bold', String(name))}\n${detail}`)
  return [table(['', 'check', ''], rows), ...details].join('\n')
}

function markOf({ ok, warning }: JsonObject): string {
  if (!ok) return paint('red', '✗')
  return warning ? paint('yellow', '!') : paint('green', '✓')
}

/**
 * The check of the daemon if a part is missing. The check of the part says what to do. Rethrows
 * other errors.
 */
function uncheckedWithoutPart(error: unknown): JsonObject[] {
  if (!(error instanceof TriviumError) || error.code !== 'part_missing') throw error
  return [{ name: 'daemon', ok: false, detail: 'not checked, because of the missing part' }]
}

async function checkConfig(environs: Environs): Promise<JsonObject[]> {
  const config = await loadFor(environs)
  const { file, included, daemon } = config
  const others = included.map((one) => relative(dirname(file), one)).join(', ')
  // The folder does not exist before the first start.
  const { bavail, bsize, blocks } = await statfs(daemon.dataDir).catch(() => statfs(environs.cwd))
  const free = bavail * bsize
  const space = `${(free / GIB).toFixed(1)} GiB free`
  const ok = !isDiskLow({ free, size: blocks * bsize })
  return [
    { name: 'configuration', ok: true, detail: others ? `${file}, with ${others}` : file },
    ...(await checkDotenv(environs)),
    ...checkPrefixFile(dirname(file)),
    ...checkParts(await needsOf(config)),
    { name: `disk of ${daemon.dataDir}`, ok, detail: ok ? space : `${space}, which is too little` },
  ]
}

/** Checks the optional parts that routes.yaml needs. npm does not install them by default. */
function checkParts(needs: Needs): JsonObject[] {
  const missing = missingParts(needs)
  return PART_NAMES.flatMap((part) => {
    const by = needs[part]?.join(', ')
    if (by === undefined) return []
    const ok = !missing.includes(part)
    const outdated = outdatedPackages(part).map(
      ({ name, found, tested }) => `${name} ${found}, tested with ${tested}`,
    )
    if (ok && outdated.length > 0) {
      const detail = `${outdated.join('; ')}. Run \`trivium parts install\``
      return [{ name: `part ${part}`, ok, warning: true, detail }]
    }
    return [
      {
        name: `part ${part}`,
        ok,
        detail: ok ? `installed; needed by ${by}` : partMissing([part], by).message,
      },
    ]
  })
}

/** `skills.json` belongs in a skills folder; beside routes.yaml it is ignored. */
function checkPrefixFile(folder: string): JsonObject[] {
  const path = join(folder, PREFIX_FILE)
  if (!existsSync(path)) return []
  const detail = `${path} is not read; move it into the folder skills`
  return [{ name: PREFIX_FILE, ok: true, warning: true, detail }]
}

/** The variables of `.env` with the length of each value, which shows a truncated one. */
async function checkDotenv({ cwd, env }: Environs): Promise<JsonObject[]> {
  const { isThere, path, variables } = await readDotenv(cwd, env)
  if (!isThere) return []
  const read = variables.map(({ name, value }) => {
    if (env[name] !== undefined) return `${name} (overridden by the environment)`
    return value === '' ? `${name} (empty)` : `${name} (${counted(value.length, 'character')})`
  })
  return [{ name: '.env', ok: true, detail: `${path}: ${read.join(', ') || 'no variables'}` }]
}

/** The daemon checks its own store and gateways. Without a daemon, they are opened here. */
async function checkDaemon(environs: Environs): Promise<JsonObject[]> {
  await using connection = await connectOrOpen(environs)
  const without = 'not running (start it with `trivium start`); checked without it'
  const found = objectsIn(await connection.doctor())
  return [{ name: 'daemon', ok: true, detail: connection.running ? 'running' : without }, ...found]
}
