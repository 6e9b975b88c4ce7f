import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { prettifyError, ZodError } from 'zod'
import { transports } from '../../../transports/registry.ts'
import { configJsonSchema } from '../../config/json-schema.ts'
import { readConfig } from '../../config/load-config.ts'
import { formatProblems } from '../../config/yaml-file.ts'
import { reasonOf } from '../../core/errors.ts'
import { type Json, toJson } from '../../core/json.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import { isId } from '../../core/message-id.ts'
import { knownSkills } from '../../daemon/known-skills.ts'
import { createRouter } from '../../engine/router.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { parseExact } from '../../lib/exact-json.ts'
import { type AddCommand, type Environs, loadFor, usage } from '../command.ts'
import { ask } from '../connection.ts'
import { humanExplanation } from '../explanation.ts'
import { show } from '../terminal.ts'

/** `trivium routes check|explain|replay`. */
export const addRoutes: AddCommand = (program, context) => {
  const command = program
    .command('routes')
    .description('check routes.yaml, and explain how messages are routed')

  command
    .command('check', { isDefault: true })
    .description('all errors and warnings with their places; exit code 2 if there is an error')
    .action(async () => {
      const { problems, files } = await checked(context.environs())
      const errors = problems.filter(({ severity }) => severity === 'error').length
      const [, ...included] = files
      const fine =
        included.length === 0 ? 'is fine.' : `and what it includes are fine: ${included.join(', ')}`
      show(context.terminal(), { ok: errors === 0, files, problems }, () =>
        problems.length === 0 ? `routes.yaml ${fine}` : problems.map(({ text }) => text).join('\n\n'),
      )
      if (errors > 0) context.exit(2)
    })

  command
    .command('explain')
    .description('explain the route of a message: the one that answers, and those that nearly match')
    .argument('<message>', 'a message id, or a JSON file with a message')
    .option('--all', 'every route; --json always has every route')
    .action(async (target: string, options: { all?: true }) => {
      const human = (explained: Json) => humanExplanation(explained, options)
      if (isId(target)) return ask(context, (daemon) => daemon.explain(target), human)
      const explained = await explainFile(context.environs(), target)
      show(context.terminal(), explained, () => human(explained))
    })

  command
    .command('replay')
    .description('route unrouted messages again, with the current routes of the running daemon')
    .requiredOption('--since <time>', 'how long ago (2h), or a time (2026-11-21T10:00:00Z)')
    .option('--gateway <name>', 'only from this gateway')
    .option('--dry-run', 'only report what would be routed')
    .action((args: { dryRun?: true }) =>
      ask(
        context,
        (daemon) => daemon.invoke('message-replay', args),
        (found) => replayed(found, args.dryRun),
      ),
    )
}

function replayed(found: Json, dryRun = false): string {
  const { seen, routed, routes, unrouted, more } = Object(found)
  const lines = Object.entries(Object(routes)).map(([route, count]) => `  ${count} to ${route}`)
  return [
    `${counted(seen, 'message')} looked at, ${routed} ${dryRun ? 'would be ' : ''}routed, ${unrouted} that no route takes now.`,
    ...lines,
    ...(more > 0 ? [`${more} more, newer than these: run it again.`] : []),
  ].join('\n')
}

/** `trivium config schema|show`. */
export const addConfig: AddCommand = (program, context) => {
  const command = program.command('config').description('the configuration')
  command
    .command('show')
    .description('routes.yaml and its included files as loaded, without secrets')
    .action(async () => {
      const { asRead } = await loadFor(context.environs())
      show(context.terminal(), asRead, () => asRead.yaml.trimEnd())
    })
  command
    .command('schema', { isDefault: true })
    .description(
      'the JSON Schema of routes.yaml, for editors; the daemon writes it to <data dir>/routes.schema.json',
    )
    .action(() => {
      context.terminal().out(`${JSON.stringify(configJsonSchema(transports), null, 2)}\n`)
    })
}

/** What is wrong, and the files of a configuration that can be read. */
async function checked({ env, cwd, path }: Environs) {
  const base = { env, cwd, transports, ...defined({ path }) }
  const { config, problems } = await readConfig(base)
  const skills = config && (await knownSkills(config))
  const found = skills ? (await readConfig({ ...base, skills })).problems : problems
  return {
    files: config?.asRead.files.map(({ file }) => file) ?? [],
    problems: found.map((problem) => ({ ...problem, text: formatProblems([problem]) })),
  }
}

/** A message that may never come in; only what the file says of it is matched. */
async function explainFile(environs: Environs, file: string): Promise<Json> {
  const config = await loadFor(environs)
  let message: Message
  try {
    message = messageSchema.parse(parseExact(await readFile(resolve(environs.cwd, file), 'utf8')))
    // Hours ask when it arrived; a message that does not say arrives now.
    message.receivedAt ||= Date.now()
  } catch (cause) {
    const reason = cause instanceof ZodError ? prettifyError(cause) : reasonOf(cause)
    throw usage(`${file} is neither a message id nor a file with a message: ${reason}`, cause)
  }
  return toJson(createRouter(config.routes).explain(message))
}
