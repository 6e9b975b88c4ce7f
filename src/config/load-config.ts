import { dirname, resolve } from 'node:path'
import type { Route } from '../core/route.ts'
import { type Checker, createChecker } from './checker.ts'
import { type DaemonConfig, daemonConfig, daemonSchema } from './daemon-section.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { checkAnswers, type GatewayConfig, parseGateways, type TransportSchemas } from './gateways.ts'
import { hint, type Problem, quote, throwErrors } from './problem.ts'
import { parseRoutes, withSkillRoutes } from './routes.ts'
import { secretsOf } from './secrets.ts'
import { type AccessConfig, accessSchema, type ModelConfig, modelSchema, skillsSchema } from './sections.ts'
import type { RoutedSkill } from './skill-routes.ts'
import { readSource } from './source.ts'
import { isRecord, kebab, parseTree, type Tree } from './yaml-tree.ts'
import { findingsOf } from './zod-problems.ts'

/** Everything that routes.yaml and the environment say, checked, with defaults, and deeply frozen. */
export type Config = {
  /** The absolute path of the file. */
  readonly file: string
  readonly daemon: DaemonConfig
  readonly gateways: readonly GatewayConfig[]
  /** The file's, then those that skills bring; a final route of the file that takes everything comes last. */
  readonly routes: readonly Route[]
  readonly access: AccessConfig
  readonly model?: ModelConfig
  /** Absolute folders. */
  readonly skills: { readonly folders: readonly string[] }
  /** Texts that must not appear in logs. */
  readonly secrets: readonly string[]
  /** What is odd but works. */
  readonly warnings: readonly Problem[]
}

export type LoadOptions = {
  /** routes.yaml; by default TRIVIUM_CONFIG, else `routes.yaml` in the working directory. */
  path?: string
  env: Environment
  cwd: string
  transports: TransportSchemas
  /**
   * The skills that there are, once they are known: then a route to one that is missing is an error, and
   * the routes that skills bring are added.
   */
  skills?: readonly RoutedSkill[]
}

const SECTIONS = ['daemon', 'gateways', 'routes', 'access', 'model', 'skills'] as const

/** Reads the configuration, or throws `config_invalid` with every error in it, each with its place. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { config, problems } = await readConfig(options)
  throwErrors(problems)
  if (!config) throw new Error('the configuration was refused without an error')
  return config
}

/** As `loadConfig`, but answers with the problems; `config` is there where none of them is an error. */
export async function readConfig(options: LoadOptions): Promise<{ config?: Config; problems: Problem[] }> {
  const { cwd } = options
  const env = await readEnvironment(cwd, options.env)
  const file = resolve(cwd, options.path ?? (env.TRIVIUM_CONFIG || 'routes.yaml'))
  const source = await readSource(file, cwd)
  if (!('text' in source)) return { problems: [source] }
  const { tree, problems } = parseTree(source)
  if (!tree) return { problems }
  const check = createChecker(source, tree, env)
  const sections = sectionsOf(tree, check)
  const config = assemble(sections, { ...options, env, file }, check)
  const hasErrors = check.problems.some((problem) => problem.severity === 'error')
  const sorted = check.problems.toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
  return hasErrors
    ? { problems: sorted }
    : { config: deepFreeze({ ...config, warnings: sorted }), problems: sorted }
}

type Sections = Partial<Record<(typeof SECTIONS)[number], unknown>>

function sectionsOf(tree: Tree, check: Checker): Sections {
  const { value } = tree
  if (value === null) return {}
  if (!isRecord(value)) {
    check.report([], 'value', `expected a mapping with the sections ${SECTIONS.join(', ')}`)
    return {}
  }
  const names: readonly string[] = SECTIONS
  for (const key of Object.keys(value)) {
    if (!names.includes(key)) check.report([key], 'key', `unknown key ${quote(key)}${hint(key, SECTIONS)}`)
  }
  return value
}

function assemble(
  sections: Sections,
  options: LoadOptions & { file: string },
  check: Checker,
): Omit<Config, 'warnings'> {
  const { env, cwd, file, transports, skills } = options
  const report = (message: string) => check.problems.push({ severity: 'error', file: 'environment', message })

  const section = check.section(daemonSchema, sections.daemon ?? {}, ['daemon']) ?? daemonSchema.parse({})
  if (section.config !== undefined && resolve(dirname(file), section.config) !== file) {
    check.report(
      ['daemon', 'config'],
      'value',
      'this can only name the file itself; set TRIVIUM_CONFIG to read another',
    )
  }
  const daemon = daemonConfig(section, { env, cwd, file, hasDataDir: hasDataDir(sections.daemon) }, report)
  const gateways = parseGateways(sections.gateways, transports, check)
  checkRetention(daemon, gateways, check)

  const kinds = Object.keys(transports)
  checkAnswers(gateways, skills, check)
  const world = { gateways, transports: kinds, ...(skills ? { skills } : {}) }
  const own = parseRoutes(sections.routes, world, check)
  const routes = withSkillRoutes(own, skills ?? [], world, check)
  warnOfIdleness(gateways, routes, check)

  const access = check.section(accessSchema, sections.access ?? {}, ['access']) ?? { roles: {} }
  const model = parseModel(sections.model, env, check, report)
  const folders = check.section(skillsSchema, sections.skills ?? {}, ['skills'])?.folders ?? []
  return {
    file,
    daemon,
    gateways,
    routes,
    access,
    ...(model ? { model } : {}),
    skills: { folders: folders.map((folder) => resolve(dirname(file), folder)) },
    secrets: secretsOf(check.secrets, sections, daemon),
  }
}

function hasDataDir(section: unknown): boolean {
  return isRecord(section) && Object.keys(section).some((key) => kebab(key) === 'data-dir')
}

function checkRetention(daemon: DaemonConfig, gateways: readonly GatewayConfig[], check: Checker): void {
  const names = gateways.map((gateway) => gateway.name)
  for (const name of Object.keys(daemon.retention.gateways ?? {})) {
    if (names.includes(name)) continue
    const path = ['daemon', 'retention', 'gateways', name]
    check.report(path, 'key', `there is no gateway ${quote(name)}${hint(name, names)}`)
  }
}

function warnOfIdleness(gateways: readonly GatewayConfig[], routes: readonly Route[], check: Checker): void {
  if (!gateways.some((gateway) => gateway.enabled)) {
    check.report(['gateways'], 'key', 'no gateway is started, so nothing can come in', 'warning')
  }
  if (routes.length === 0) {
    check.report(
      ['routes'],
      'key',
      'there are no routes: messages reach receive and events, but no skill',
      'warning',
    )
  }
}

function parseModel(
  raw: unknown,
  env: Environment,
  check: Checker,
  report: (message: string) => void,
): ModelConfig | undefined {
  const model = raw === undefined || raw === null ? undefined : check.section(modelSchema, raw, ['model'])
  if (!env.TRIVIUM_MODEL) return model
  const named = modelSchema.safeParse(env.TRIVIUM_MODEL)
  for (const { message } of findingsOf(named.error?.issues ?? [], modelSchema, env.TRIVIUM_MODEL)) {
    report(`TRIVIUM_MODEL: ${message}`)
  }
  return { ...model, name: env.TRIVIUM_MODEL }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const item of Object.values(value)) deepFreeze(item)
  return value
}
