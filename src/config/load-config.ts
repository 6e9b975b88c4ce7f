import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { noSuch } from '../lib/nearest.ts'
import { assistantOf, withoutAssistant } from './assistant.ts'
import { type Checker, createChecker, type OptionalVariables, STORE_SECTIONS } from './checker.ts'
import {
  checkAnswers,
  checkMembers,
  checkQueues,
  checkTokens,
  checkTopics,
  parseSubscriptions,
} from './cross-checks.ts'
import { type Environment, readEnvironment, secretsOf } from './environment.ts'
import { type GatewayConfig, parseGateways, type RoutedSkill, type TransportSchemas } from './gateways.ts'
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
  /** Errors that `onlyStore` allows. */
  readonly ignored: readonly Problem[]
  /** The displayable content of the file: variables by name, other secrets masked. */
  readonly asRead: AsRead
}

export type LoadOptions = {
  /** Path of routes.yaml; default: TRIVIUM_CONFIG, else `routes.yaml` in the working directory. */
  path?: string
  env: Environment
  cwd: string
  transports: TransportSchemas
  /**
   * The skills, once known: routes to missing ones are then errors, and routes of skills are added.
   */
  skills?: readonly RoutedSkill[]
  /**
   * For commands that only need to know what is configured: unset variables are no errors, and
   * gateways that wait for them count as enabled. Such a configuration cannot run. `except-store`:
   * variables of `daemon` and `redis` must still be set, for commands that work on the store
   * itself.
   */
  withoutVariables?: OptionalVariables
  /**
   * For commands that copy the store: errors in sections other than `daemon` and `redis` do not
   * matter. They are in `ignored`. Such a configuration cannot run.
   */
  onlyStore?: boolean
}

/**
 * Only the names of the sections. Their contents are parsed separately, so that an error in one
 * does not hide errors in others.
 */
const sectionNames = z.strictObject(
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
    const checker = createChecker(yaml, env, options.withoutVariables)
    const config = assemble({ ...options, env, file }, checker)
    const found = yaml.sorted(checker.problems)
    const [errors, warnings] = bySeverity(found)
    const isIgnored = (problem: Problem) => options.onlyStore === true && isOutsideStore(problem, checker)
    if (!errors.every(isIgnored)) return { problems: found }
    const asRead = asReadOf(parts, checker)
    return { config: { ...config, warnings, ignored: errors, asRead }, problems: found }
  } catch (error) {
    if (!isStackOverflow(error)) throw error
    return {
      problems: [yaml.problem([], 'value', 'the file is nested too deeply, or an alias refers to itself')],
    }
  }
}

function bySeverity(problems: readonly Problem[]): [errors: Problem[], warnings: Problem[]] {
  const isError = ({ severity }: Problem) => severity === 'error'
  return [problems.filter(isError), problems.filter((problem) => !isError(problem))]
}

/** Whether a problem is in a section that does not say which store it is. */
function isOutsideStore(problem: Problem, { sections }: Checker): boolean {
  const section = sections.get(problem)
  // An unknown section may be a misspelt `daemon`.
  return Object.hasOwn(sectionNames.shape, section ?? '') && !STORE_SECTIONS.has(section)
}

function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded'
}

/**
 * The absolute path of the configuration file, which need not exist. `path`: as given on the
 * command line.
 */
export function configPath(cwd: string, env: Environment, path?: string): string {
  return resolve(cwd, path ?? (env.TRIVIUM_CONFIG || 'routes.yaml'))
}

function assemble(options: LoadOptions & { file: string }, checker: Checker) {
  const { env, cwd, file, transports, skills } = options
  const content = isJsonObject(checker.value) ? checker.value : {}
  // Reports unknown sections, and a file that is not a mapping.
  if (isJsonObject(checker.value ?? {})) checker.parse(sectionNames, checker.value ?? {}, [])
  else checker.report([], 'value', 'expected a mapping with sections such as `gateways:` and `routes:`')
  const section = <T>(name: string, schema: z.ZodType<T>): T => {
    const empty = schema instanceof z.ZodArray ? [] : {}
    return checker.section(schema, content[name] ?? empty, [name]) ?? schema.parse(empty)
  }
  const redis = section('redis', sections.redis)
  const daemon = { ...parseDaemon(content.daemon ?? {}, { env, cwd, file }, checker), redis }
  const gateways = parseGateways(content.gateways, transports, checker)
  const names = gateways.map((gateway) => gateway.name)
  for (const name of Object.keys(daemon.retention.gateways).filter((each) => !names.includes(each))) {
    checker.report(['daemon', 'retention', 'gateways', name], 'key', noSuch('gateway', name, names))
  }
  const mcp = parseMcp(content.mcp, checker)
  const servers = [...mcp.servers, ...mcp.off].map(({ name }) => name)
  const assistant = assistantOf(section('assistant', sections.assistant))
  const usableSkills = assistant.enabled ? skills : skills && withoutAssistant(skills)
  const kinds = Object.keys(transports)
  const context = { gateways, servers, transports: kinds, ...defined({ skills: usableSkills }) }
  checkAnswers(context, checker)
  const routes = parseRoutes(content.routes, context, checker)
  const notify = parseNotify(content.notify, { gateways, transports }, checker)
  const ofNotify = notify.flatMap((rule) => ('subscription' in rule ? rule.subscription : []))
  const subscriptions = [...parseSubscriptions(content.subscriptions, context, checker), ...ofNotify]
  const schedules = parseSchedules(content.schedules, context, checker)
  const isInFile = ({ name }: GatewayConfig) => Object.hasOwn(Object(content.gateways), name)
  warnOfNothingToDo({ gateways: gateways.filter(isInFile), routes }, checker)
  const topics = section('topics', sections.topics)
  checkTopics(topics, context, checker)
  const access = section('access', sections.access)
  checkMembers(access.roles, context, checker)
  const model = parseModel(content.model, env, checker)
  const transcribe = parseTranscribe(content.transcribe, names, checker)
  const tokens = section('tokens', sections.tokens)
  checkTokens(tokens, daemon.token, context, checker)
  const { folders } = section('skills', sections.skills)
  const queues = defined({ redis: daemon.redisUrl, ...section('queues', sections.queues) })
  checkQueues(queues, context, checker)
  return {
    /** The environment with `.env` as it was read, for keys of models. */
    environment: env,
    /** Absolute paths of the file, and of the files that it includes. */
    file,
    /** The absolute path of `.env`, which need not exist. */
    envFile: join(cwd, '.env'),
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
    ...defined({ model, transcribe }),
    /** Where the BullMQ queues are; `redis` is absent if there is none. */
    queues,
    tokens,
    console: section('console', sections.console),
    mcp,
    /**
     * How many gateways and routes the file itself has: without the implicit command-line gateway
     * and routes of skills.
     */
    inFile: { gateways: sizeOf(content.gateways), routes: sizeOf(content.routes) },
    /** Absolute folders. */
    skills: { folders: skillFolders(folders, content.skills !== undefined, checker) },
    /** Texts to redact in logs. */
    secrets: secretsOf(checker.secrets(), content, daemon),
  }
}

/**
 * Warns if no gateway of the file is started, and if there are no routes. In a file with errors,
 * that may be due to one of them.
 */
function warnOfNothingToDo(
  { gateways, routes }: { gateways: readonly GatewayConfig[]; routes: readonly unknown[] },
  checker: Checker,
): void {
  if (checker.problems.some(({ severity }) => severity === 'error')) return
  if (!gateways.some(({ enabled }) => enabled)) {
    const message = 'no gateway is started: messages can only come from the command line'
    checker.report(['gateways'], 'key', message, 'warning')
  }
  if (routes.length === 0) {
    const message = 'there are no routes: workers and consumers get the messages, but no skill does'
    checker.report(['routes'], 'key', message, 'warning')
  }
}

/**
 * The displayable content of the files. `yaml`: all of them, each under its name if there are
 * several.
 */
type AsRead = {
  yaml: string
  files: { file: string; yaml: string }[]
  variables: ReturnType<Checker['variables']>
}

/** The content before substitution, which cannot contain values of the environment. */
function asReadOf(parts: readonly Part[], { variables }: Checker): AsRead {
  const files = parts.map(({ shown, yaml }) => ({ file: shown, yaml: yaml.shown() }))
  const [only, ...others] = files
  const isSingle = only !== undefined && others.length === 0
  const yaml = isSingle ? only.yaml : files.map((one) => `# ${one.file}\n${one.yaml}`).join('\n')
  return { yaml, files, variables: variables() }
}

/** The model in the file or in TRIVIUM_MODEL; undefined if there is none. */
function parseModel(raw: unknown, env: Environment, checker: Checker) {
  const section = typeof raw === 'string' ? { name: raw } : raw
  const isInFile = section !== undefined && section !== null
  if (!isInFile && !env.TRIVIUM_MODEL) return undefined
  return checker.section(modelSchema, section ?? {}, ['model'], { TRIVIUM_MODEL: 'name' })
}

/** Number of entries of a section. */
function sizeOf(section: unknown): number {
  return Object.keys(Object(section)).length
}

/**
 * Parses `daemon:`. A relative data directory is relative to the file if it is set there. From the
 * environment or by default, it is relative to `cwd`.
 */
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
  const isSetInFile = !env.TRIVIUM_DATA_DIR && isJsonObject(raw) && 'data-dir' in raw
  return { ...daemon, dataDir: resolve(isSetInFile ? folderOf('data-dir') : cwd, daemon.dataDir) }
}
