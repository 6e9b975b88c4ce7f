import { readFile } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { transports } from '../../../transports/registry.ts'
import { type Config, readConfig } from '../../config/load-config.ts'
import { formatProblems, type Problem } from '../../config/yaml-file.ts'
import { closed, time } from '../../core/arguments.ts'
import { fileReason, TriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, objectsIn, toJson } from '../../core/json.ts'
import { isId } from '../../core/message-id.ts'
import { loadSkills } from '../../daemon/known-skills.ts'
import { messages } from '../../engine/operations/messages.ts'
import { humanReplay } from '../../engine/print/messages.ts'
import { humanRoute } from '../../engine/print/route.ts'
import { createRouter } from '../../engine/router.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { isMissing } from '../../lib/disk.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { sentencesInWidth } from '../../lib/paragraph.ts'
import { shownPath } from '../../lib/shown-path.ts'
import { nounOf } from '../../runtime/own-middleware.ts'
import { REPLACED } from '../../runtime/replaced-skills.ts'
import { type AddCommand, type Environs, loadFor, usage } from '../command.ts'
import { ask, connectOrOpen } from '../connection.ts'
import { humanExplanation } from '../explanation.ts'
import { readDraft } from '../message-draft.ts'
import { operationFlags, runsOperation } from '../operation-command.ts'
import { withFacts, withStates } from '../route-facts.ts'
import { withTraffic } from '../route-traffic.ts'
import { fullId } from '../short-ids.ts'
import { humanResult } from '../skill-output.ts'
import { show } from '../terminal.ts'

/** The arguments of `route list`: the time whose messages and attempts are counted. */
const LIST = closed({
  since: time.exactOptional().describe('Counts messages and attempts since a time, or an age; default: 1d'),
  until: time.exactOptional().describe('Counts up to this time, or an age such as 2h'),
})

/** The arguments of `route show`, beside its name: the time whose messages and attempts are counted. */
const SHOW = closed({
  since: time
    .exactOptional()
    .describe('Counts messages and attempts since a time, or an age; default: the last hour and day'),
  until: time.exactOptional().describe('Counts up to this time, or an age such as 2h'),
})

/** `trivium route list|show|check|explain|replay`. */
export const addRoute: AddCommand = (program, context) => {
  const command = program
    .command('route')
    .description('list and pause routes, check routes.yaml, and explain how messages are routed')

  const list = command
    .command('list', { isDefault: true })
    .description('the routes in their order: their messages, what failed, and which are paused')
  runsOperation(list, context, {
    operation: 'route-list',
    args: LIST,
    human: (routes, args) => humanResult('route-list', routes, args, true),
    async run(daemon, { since = '1d', until }) {
      const routes = await withStates(daemon, objectsIn(await daemon.invoke('route-list', {})))
      return withTraffic(daemon, routes, { since: String(since), ...(until && { until: String(until) }) })
    },
  })

  const showOne = command
    .command('show')
    .description('one route: what it matches and runs, its pauses, messages and dead letters')
    .argument('<route>', 'the name of the route')
  const { read } = operationFlags(showOne, SHOW)
  showOne.action((name: string, options: object) => {
    const { since, until } = read(options, context.terminal())
    const isChosen = since !== undefined || until !== undefined
    const range = { since: String(since ?? '1d'), ...(until !== undefined && { until: String(until) }) }
    return ask(
      context,
      async (daemon) => {
        const routes = objectsIn(await daemon.invoke('route-list', {}))
        const found = routeNamed(name, routes)
        return withFacts(daemon, found, routes, context.environs(), isChosen ? range : undefined)
      },
      humanRoute,
    )
  })

  command
    .command('check')
    .description('all errors and warnings with their places; exit code 2 if there is an error')
    .action(async () => {
      const checked = await checkConfiguration(context.environs())
      const ok = checked.problems.every(({ severity }) => severity !== 'error')
      show(context.terminal(), { ok, ...checked }, () => humanCheck(ok, checked))
      if (!ok) context.exit(2)
    })

  command
    .command('explain')
    .description('explain the route of a message: the one that answers, and those that nearly match')
    .argument('<message>', 'a message id, or a JSON file such as {"gateway":"cli","text":"hello"}')
    .option('--all', 'every route; --json always has every route')
    .action(async (target: string, options: { all?: true }) => {
      const human = (explained: Json) => humanExplanation(explained, options)
      if (isId(target) || /^…?[0-9a-f-]{4,35}$/i.test(target))
        return ask(
          context,
          async (daemon) => daemon.explain(await fullId(daemon, target)),
          human,
          connectOrOpen,
        )
      const explained = await explainFile(context.environs(), target)
      show(context.terminal(), explained, () => human(explained))
    })

  const replay = command
    .command('replay')
    .description('route unrouted messages again, with the current routes of the running daemon')
  runsOperation(replay, context, { operation: 'message-replay', args: messages.replay, human: humanReplay })
}

/** The route with a name. Throws `not_found`. */
function routeNamed(name: string, routes: readonly JsonObject[]): JsonObject {
  const found = routes.find((route) => route.name === name)
  const names = routes.map((route) => String(route.name))
  const hint = didYouMean(name, names) || ' `trivium route list` lists them.'
  if (!found) throw new TriviumError('not_found', { path: `route ${name}`, hint })
  return found
}

/** The problems first. What is valid comes last, where it is seen at a terminal. */
function humanCheck(ok: boolean, { problems, files, apps }: Checked): string {
  const [, ...included] = files
  const warnings = problems.length > 0 ? `, with ${counted(problems.length, 'warning')}` : ''
  const valid =
    included.length === 0
      ? `routes.yaml is valid${warnings}.`
      : `routes.yaml and its included files are valid${warnings}: ${included.join(', ')}`
  const paragraphs = problems.map(({ text }) => sentencesInWidth(text))
  const loaded = apps.map((app) => `The Bolt app ${app} was loaded.`)
  return [...paragraphs, [...(ok ? [valid] : []), ...loaded].join('\n')].filter(Boolean).join('\n\n')
}

type Checked = Awaited<ReturnType<typeof checkConfiguration>>

/** Checks a configuration. Returns its problems, its files, and the Bolt apps that were loaded. */
async function checkConfiguration({ env, cwd, path }: Environs) {
  const base = { env, cwd, transports, ...defined({ path }) }
  const { config, problems } = await readConfig(base)
  const skills = config && (await loadSkills(config))
  const found = skills ? (await readConfig({ ...base, skills: skills.known })).problems : problems
  const broken = (skills?.broken ?? []).map(({ name, path: file, reason }): Problem => {
    const message = `the ${nounOf(name)} cannot be loaded: ${reason}`
    return { severity: 'error', file: shownPath(cwd, file), message }
  })
  const replaced = (skills?.replaced ?? []).map(({ path: file }): Problem => {
    return { severity: 'warning', file: shownPath(cwd, file), message: REPLACED }
  })
  const apps = config ? await tryApps(config) : []
  const all = [...found, ...broken, ...replaced, ...apps.flatMap(({ problems: ofApp }) => ofApp)]
  return {
    files: config?.asRead.files.map(({ file }) => file) ?? [],
    apps: apps.flatMap(({ file, isLoaded }) => (isLoaded ? [relative(cwd, file)] : [])),
    problems: all.map((problem) => ({ ...problem, text: formatProblems([problem]) })),
  }
}

/** Loads the Bolt apps of the routes. Reports nothing if the part for them is not installed. */
async function tryApps({ routes }: Pick<Config, 'routes'>) {
  const files = [...new Set(routes.flatMap(({ bolt }) => bolt ?? []))]
  const [load] = Object.values(transports).flatMap(({ tryListener }) => tryListener ?? [])
  const problem = (severity: Problem['severity'], message: string): Problem => {
    return { severity, file: 'routes.yaml', message }
  }
  return Promise.all(
    files.map(async (file) => {
      const trial = await load?.(file).catch((error: unknown) => {
        if (!(error instanceof TriviumError) || error.code !== 'part_missing') throw error
      })
      const { fault, warnings = [] } = trial ?? {}
      const problems = warnings.map((warning) => problem('warning', warning))
      if (fault !== undefined) problems.unshift(problem('error', fault))
      return { file, isLoaded: trial !== undefined && fault === undefined, problems }
    }),
  )
}

/** Explains the routes of a message that exists only in a file. */
async function explainFile(environs: Environs, file: string): Promise<Json> {
  const config = await loadFor(environs)
  const text = await readFile(resolve(environs.cwd, file), 'utf8').catch((cause: unknown) => {
    if (isMissing(cause))
      throw new TriviumError('not_found', { path: `message and no file ${file}`, hint: '' }, { cause })
    throw usage(`${file} cannot be read: ${fileReason(cause)}`, cause)
  })
  return toJson(createRouter(config.routes).explain(readDraft(text, file, config.gateways)))
}
