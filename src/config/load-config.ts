import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { noSuch } from '../lib/nearest.ts'
import { assistantOf, withoutAssistant } from './assistant.ts'
import { type Checker, createChecker } from './checker.ts'
import {
  checkAnswers,
  checkMembers,
  checkQueues,
  checkTokens,
  checkTopics,
  parseSubscriptions,
} from './cross-checks.ts'
import { type Environment, readEnvironment, secretsOf } from './environment.ts'
import { parseGateways, type RoutedSkill, type TransportSchemas } from './gateways.ts'
import { parseMcp } from './mcp.ts'
import { mergeFiles } from './merged-files.ts'
import { parseNotify } from './notify.ts'
import { type Part, readFiles } from './read-files.ts'
import { parseRoutes } from './routes.ts'
import { parseSchedules } from './schedules.ts'
import { DAEMON_VARIABLES, type DaemonConfig, modelSchema, sections } from './sections.ts'
import { skillFolders } from './skill-folders.ts'
import { parseTranscribe } from './transcribe.ts'
import { formatProblems, type Problem } from './yaml-file.ts'

/** The validated configuration from routes.yaml and the environment, with defaults. */
export type Config = Readonly<ReturnType<typeof assemble>> & {
  /** Problems that do not prevent the start. */
  readonly warnings: readonly Problem[]
  /** The displayable content of the file: variables by name, other secrets masked. */
  readonly asRead: AsRead
}

export type LoadOptions = {
  /** Path of routes.yaml; default: TRIVIUM_CONFIG, else `routes.yaml` in the working directory. */
  path?: string
  env: Environment
  cwd: string
  transports: TransportSchemas
  /** The skills, once known: routes to missing ones are then errors, and routes of skills are added. */
  skills?: readonly RoutedSkill[]
}

/** Sections are parsed separately, so that an error in one does not hide errors in others. */
const sectionsSchema = z.strictObject(
  Object.fromEntries(['gateways', ...Object.keys(sections)].map((name) => [name, z.unknown().optional()])),
)

/** Reads the configuration, or throws `config_invalid` with all errors and their places. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { config, problems } = await readConfig(options)
  if (config) return config
  const errors = problems.filter((problem) => problem.severity === 'error')
  throw new TriviumError('config_invalid', { details: formatProblems(errors) })
}

/** Like `loadConfig`, but returns the problems; `config` is set if none is an error. */
export async function readConfig(options: LoadOptions): Promise<{ config?: Config; problems: Problem[] }> {
  const { cwd } = options
  const env = await readEnvironment(cwd, options.env)
  const file = configPath(cwd, env, options.path)
  const { parts, problems } = await readFiles(file, cwd, env)
  const [main, ...others] = parts
  if (!main || problems.length > 0) return { problems }
  const yaml = mergeFiles([main, ...others])
  try {
    const checker = createChecker(yaml, env)
    const config = assemble({ ...options, env, file }, checker)
    const found = yaml.sorted(checker.problems)
    if (found.some((problem) => problem.severity === 'error')) return { problems: found }
    return { config: { ...config, warnings: found, asRead: asReadOf(parts, checker) }, problems: found }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return {
      problems: [yaml.problem([], 'value', 'the file is nested too deeply, or an alias refers to itself')],
    }
  }
}

/** The absolute path of the configuration file, which may not exist. */
export function configPath(cwd: string, env: Environment, path?: string): string {
  return resolve(cwd, path ?? (env.TRIVIUM_CONFIG || 'routes.yaml'))
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
  const mcp = parseMcp(given.mcp, checker)
  const servers = [...mcp.servers, ...mcp.off].map(({ name }) => name)
  const assistant = assistantOf(section('assistant', sections.assistant))
  const known = assistant.enabled ? skills : skills && withoutAssistant(skills)
  const world = { gateways, servers, transports: Object.keys(transports), ...defined({ skills: known }) }
  checkAnswers(world, checker)
  const routes = parseRoutes(given.routes, world, checker)
  const notify = parseNotify(given.notify, { gateways, transports }, checker)
  const own = notify.flatMap((rule) => ('subscription' in rule ? rule.subscription : []))
  const subscriptions = [...parseSubscriptions(given.subscriptions, world, checker), ...own]
  const schedules = parseSchedules(given.schedules, world, checker)
  // The command-line gateway exists implicitly.
  if (!gateways.some(({ name, enabled }) => enabled && Object.hasOwn(Object(given.gateways), name))) {
    const message = 'no gateway is started: messages can only come from the command line'
    checker.report(['gateways'], 'key', message, 'warning')
  }
  if (routes.length === 0) {
    const message = 'there are no routes: messages can be received and are events, but no skill gets them'
    checker.report(['routes'], 'key', message, 'warning')
  }
  const topics = section('topics', sections.topics)
  checkTopics(topics, world, checker)
  const access = section('access', sections.access)
  checkMembers(access.roles, world, checker)
  const named = typeof given.model === 'string' ? { name: given.model } : given.model
  const isModel = (named ?? (env.TRIVIUM_MODEL || undefined)) !== undefined
  const model = isModel && checker.section(modelSchema, named ?? {}, ['model'], { TRIVIUM_MODEL: 'name' })
  const transcribe = parseTranscribe(given.transcribe, names, checker)
  const tokens = section('tokens', sections.tokens)
  checkTokens(tokens, daemon.token, world, checker)
  const { folders } = section('skills', sections.skills)
  const queues = defined({ redis: daemon.redisUrl, ...section('queues', sections.queues) })
  checkQueues(queues, world, checker)
  return {
    /** The environment with `.env` as it was read, for keys of models. */
    environment: env,
    /** Absolute paths of the file, and of the files that it includes. */
    file,
    included: checker.files.slice(1),
    daemon,
    gateways,
    /** Routes of the file, then of skills, then each `fallback`. */
    routes,
    /** Subscriptions of the file, and one per notification by POST. */
    subscriptions,
    notify,
    schedules,
    topics,
    access,
    assistant,
    ...defined({ model: model || undefined, transcribe }),
    /** Location of the BullMQ queues; `redis` is absent if none is used. */
    queues,
    tokens,
    console: section('console', sections.console),
    /** MCP servers. */
    mcp,
    /** Numbers in the file itself, without routes of skills and the implicit command-line gateway. */
    inFile: { gateways: sizeOf(given.gateways), routes: sizeOf(given.routes) },
    /** Absolute folders. */
    skills: { folders: skillFolders(folders, given.skills !== undefined, checker) },
    /** Texts to redact in logs. */
    secrets: secretsOf(checker.secrets(), given, daemon),
  }
}

/** `yaml`: all files, each under its name where there are several. */
type AsRead = {
  yaml: string
  files: { file: string; yaml: string }[]
  variables: ReturnType<Checker['variables']>
}

/** Made from the content before substitution, so it cannot contain values of the environment. */
function asReadOf(parts: readonly Part[], { variables }: Checker): AsRead {
  const files = parts.map(({ shown, yaml }) => ({ file: shown, yaml: yaml.shown() }))
  const [only, ...others] = files
  const isAlone = only !== undefined && others.length === 0
  const yaml = isAlone ? only.yaml : files.map((one) => `# ${one.file}\n${one.yaml}`).join('\n')
  return { yaml, files, variables: variables() }
}

function sizeOf(section: unknown): number {
  return Object.keys(Object(section)).length
}

/** A relative data directory is relative to the file if set there, else (environment, default) to `cwd`. */
function parseDaemon(
  raw: unknown,
  { env, cwd, file }: { env: Environment; cwd: string; file: string },
  checker: Checker,
): Omit<DaemonConfig, 'redis'> {
  const parsed = checker.section(sections.daemon, raw, ['daemon'], DAEMON_VARIABLES)
  const { config, ...daemon } = parsed ?? sections.daemon.parse({})
  const folderOf = (key: string) => dirname(checker.fileOf(['daemon', key]))
  if (config !== undefined && resolve(folderOf('config'), config) !== file) {
    const message = 'this can only name the file itself; set TRIVIUM_CONFIG to read another'
    checker.report(['daemon', 'config'], 'value', message)
  }
  const isOfFile = !env.TRIVIUM_DATA_DIR && isJsonObject(raw) && 'data-dir' in raw
  return { ...daemon, dataDir: resolve(isOfFile ? folderOf('data-dir') : cwd, daemon.dataDir) }
}
