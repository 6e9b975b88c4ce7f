import { type Stats, unwatchFile, watchFile } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { stringify } from 'yaml'
import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { noSuch } from '../lib/nearest.ts'
import { type Checker, createChecker } from './checker.ts'
import { checkTopics, createCrossChecks } from './cross-checks.ts'
import { type Environment, readEnvironment, secretsOf, withoutValues } from './environment.ts'
import { parseGateways, type RoutedSkill, type TransportSchemas } from './gateways.ts'
import { parseMcp } from './mcp.ts'
import { parseNotify } from './notify.ts'
import { parseRoutes } from './routes.ts'
import { parseSchedules } from './schedules.ts'
import { DAEMON_VARIABLES, type DaemonConfig, modelSchema, sections } from './sections.ts'
import { formatProblems, type Problem, readYaml } from './yaml-file.ts'

/** Everything that routes.yaml and the environment say, checked, and with defaults. */
export type Config = Readonly<ReturnType<typeof assemble>> & {
  /** What is odd but works. */
  readonly warnings: readonly Problem[]
  /** What the file says, to show: variables by their names, other secrets masked. */
  readonly asRead: AsRead
}

export type LoadOptions = {
  /** routes.yaml; by default TRIVIUM_CONFIG, else `routes.yaml` in the working directory. */
  path?: string
  env: Environment
  cwd: string
  transports: TransportSchemas
  /** The skills, once they are known: a route to one that is missing is then an error, and their own routes are added. */
  skills?: readonly RoutedSkill[]
}

/** Each section is parsed by itself, so that a mistake in one does not hide those in others. */
const sectionsSchema = z.strictObject(
  Object.fromEntries(['gateways', ...Object.keys(sections)].map((name) => [name, z.unknown().optional()])),
)

/** Reads the configuration, or throws `config_invalid` with every error in it, each with its place. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { config, problems } = await readConfig(options)
  if (config) return config
  const errors = problems.filter((problem) => problem.severity === 'error')
  throw new TriviumError('config_invalid', { details: formatProblems(errors) })
}

/** As `loadConfig`, but answers with the problems; `config` is there where none of them is an error. */
export async function readConfig(options: LoadOptions): Promise<{ config?: Config; problems: Problem[] }> {
  const { cwd } = options
  const env = await readEnvironment(cwd, options.env)
  const file = configPath(cwd, env, options.path)
  const { yaml, problems } = await readYaml(file, cwd)
  if (!yaml) return { problems }
  try {
    const checker = createChecker(yaml, env)
    const config = assemble({ ...options, env, file }, checker)
    const found = checker.problems.toSorted(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    )
    if (found.some((problem) => problem.severity === 'error')) return { problems: found }
    return { config: { ...config, warnings: found, asRead: asReadOf(checker) }, problems: found }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return {
      problems: [yaml.problem([], 'value', 'the file is nested too deep, or an alias refers to itself')],
    }
  }
}

/** The absolute path of the configuration file, which need not be there. */
export function configPath(cwd: string, env: Environment, path?: string): string {
  return resolve(cwd, path ?? (env.TRIVIUM_CONFIG || 'routes.yaml'))
}

/** Ms between two looks at a file. Asking for its times also sees what notifications miss: mounts, links, ConfigMaps. */
const INTERVAL = 100

/** Calls `changed` once one of the files, which need not be there, has changed and rested for `quiet` ms. Returns what ends that. */
export function watchFiles(files: readonly string[], changed: () => void, quiet = 2 * INTERVAL): () => void {
  let timer: NodeJS.Timeout | undefined
  const look = (now: Stats, before: Stats) => {
    // Whoever only reads a file changes its times too.
    if (now.mtimeMs === before.mtimeMs && now.ino === before.ino) return
    clearTimeout(timer)
    timer = setTimeout(changed, quiet)
  }
  for (const file of files) watchFile(file, { interval: INTERVAL }, look)
  return () => {
    clearTimeout(timer)
    for (const file of files) unwatchFile(file, look)
  }
}

function assemble(options: LoadOptions & { file: string }, checker: Checker) {
  const { env, cwd, file, transports, skills } = options
  const given = isJsonObject(checker.value) ? checker.value : {}
  checker.parse(sectionsSchema, checker.value ?? {}, [])
  const section = <T>(name: string, schema: z.ZodType<T>): T => {
    const empty = schema instanceof z.ZodArray ? [] : {}
    return checker.section(schema, given[name] ?? empty, [name]) ?? schema.parse(empty)
  }
  const redis = section('redis', sections.redis)
  const daemon = { ...parseDaemon(given.daemon ?? {}, { env, cwd, file }, checker), redis }
  const gateways = parseGateways(given.gateways, transports, checker)
  const names = gateways.map((gateway) => gateway.name)
  for (const name of Object.keys(daemon.retention.gateways).filter((each) => !names.includes(each))) {
    checker.report(['daemon', 'retention', 'gateways', name], 'key', noSuch('gateway', name, names))
  }
  const mcp = parseMcp(given.mcp, file, checker)
  const servers = [...mcp.servers, ...mcp.off].map(({ name }) => name)
  const known = { gateways, servers, transports: Object.keys(transports), ...defined({ skills }) }
  const world = { folder: dirname(file), ...known }
  const check = createCrossChecks(world, checker)
  check.answers()
  const routes = parseRoutes(given.routes, world, checker)
  const notify = parseNotify(given.notify, { gateways, transports }, checker)
  const own = notify.flatMap((rule) => ('subscription' in rule ? rule.subscription : []))
  const subscriptions = [...check.subscriptions(given.subscriptions), ...own]
  const schedules = parseSchedules(given.schedules, world, checker)
  // That of the command line is there without being named.
  if (!gateways.some(({ name, enabled }) => enabled && Object.hasOwn(Object(given.gateways), name))) {
    const message = 'no gateway is started: messages can come from the command line alone'
    checker.report(['gateways'], 'key', message, 'warning')
  }
  if (routes.length === 0) {
    const message = 'there are no routes: messages reach receive and events, but no skill'
    checker.report(['routes'], 'key', message, 'warning')
  }
  const topics = section('topics', sections.topics)
  checkTopics(topics, world, checker)
  const access = section('access', sections.access)
  check.members(access.roles)
  const named = typeof given.model === 'string' ? { name: given.model } : given.model
  const isModel = (named ?? (env.TRIVIUM_MODEL || undefined)) !== undefined
  const model = isModel && checker.section(modelSchema, named ?? {}, ['model'], { TRIVIUM_MODEL: 'name' })
  const tokens = section('tokens', sections.tokens)
  check.tokens(tokens, daemon.token)
  const { folders } = section('skills', sections.skills)
  const queues = defined({ redis: daemon.redisUrl, ...section('queues', sections.queues) })
  check.queues(queues)
  return {
    /** The absolute path of the file. */
    file,
    daemon,
    gateways,
    /** The file's, then those that skills bring; then each `fallback`. */
    routes,
    /** Those of the file, and one for each notification that is POSTed. */
    subscriptions,
    notify,
    schedules,
    topics,
    access,
    assistant: section('assistant', sections.assistant),
    ...defined({ model: model || undefined }),
    /** Where BullMQ queues are; `redis` is absent where none is used. */
    queues,
    tokens,
    console: section('console', sections.console),
    /** Other MCP servers. */
    mcp,
    /** How many the file itself has: skills bring routes, and the gateway of the command line is always there. */
    inFile: { gateways: sizeOf(given.gateways), routes: sizeOf(given.routes) },
    /** Absolute folders. */
    skills: { folders: folders.map((folder) => resolve(dirname(file), folder)) },
    /** Texts that must not appear in logs. */
    secrets: secretsOf(checker.secrets(), given, daemon),
  }
}

type AsRead = { yaml: string; variables: ReturnType<Checker['variables']> }

/** From the values before variables are put in: what came from the environment cannot be in it. */
function asReadOf({ written, variables }: Checker): AsRead {
  return {
    yaml: stringify(withoutValues(written), { lineWidth: 0, aliasDuplicateObjects: false }),
    variables: variables(),
  }
}

function sizeOf(section: unknown): number {
  return Object.keys(Object(section)).length
}

/** A relative data directory of the file is relative to the file, one of the environment (and the default) to `cwd`. */
function parseDaemon(
  raw: unknown,
  { env, cwd, file }: { env: Environment; cwd: string; file: string },
  checker: Checker,
): Omit<DaemonConfig, 'redis'> {
  const parsed = checker.section(sections.daemon, raw, ['daemon'], DAEMON_VARIABLES)
  const { config, ...daemon } = parsed ?? sections.daemon.parse({})
  if (config !== undefined && resolve(dirname(file), config) !== file) {
    const message = 'this can only name the file itself; set TRIVIUM_CONFIG to read another'
    checker.report(['daemon', 'config'], 'value', message)
  }
  const isOfFile = !env.TRIVIUM_DATA_DIR && isJsonObject(raw) && 'data-dir' in raw
  return { ...daemon, dataDir: resolve(isOfFile ? dirname(file) : cwd, daemon.dataDir) }
}
