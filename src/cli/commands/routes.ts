import { readFile } from 'node:fs/promises'
import { prettifyError, ZodError } from 'zod'
import { transports } from '../../../transports/registry.ts'
import { readConfig } from '../../config/load-config.ts'
import { formatProblems, type Problem } from '../../config/problem.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import { isId } from '../../core/message-id.ts'
import { knownSkills, SHIPPED_SKILLS } from '../../daemon/known-skills.ts'
import { createRouter } from '../../gateway/router.ts'
import type { AddCommand } from '../command.ts'
import { connectOrOpen } from '../connection.ts'
import { type Environs, loadFor } from '../environs.ts'
import { show, table } from '../terminal.ts'

/** `trivium routes check|explain`. */
export const addRoutes: AddCommand = (program, context) => {
  const command = program.command('routes').description('check routes.yaml, and see why a message goes where')

  command
    .command('check', { isDefault: true })
    .description('every error and warning, with its place; exit code 2 where there is an error')
    .action(async () => {
      const problems = await problemsOf(context.environs())
      const errors = problems.filter(({ severity }) => severity === 'error').length
      const shown = problems.map(({ text, ...rest }) => ({ ...rest, text }))
      show(context.terminal(), { ok: errors === 0, problems: shown }, () =>
        problems.length === 0 ? 'routes.yaml is fine.' : problems.map(({ text }) => text).join('\n\n'),
      )
      if (errors > 0) context.exit(2)
    })

  command
    .command('explain')
    .description('for each route, why it did or did not match')
    .argument('<message>', 'a message id, or a JSON file with a message')
    .action(async (target: string) => {
      const explained = isId(target)
        ? await explainId(context.environs(), target)
        : await explainFile(context.environs(), target)
      show(context.terminal(), explained, () => humanExplanation(explained))
    })
}

async function problemsOf(environs: Environs): Promise<(Problem & { text: string })[]> {
  const { env, cwd, path } = environs
  const base = { env, cwd, transports, ...(path === undefined ? {} : { path }) }
  const { config, problems } = await readConfig(base)
  const skills = config && (await knownSkills([...config.skills.folders, SHIPPED_SKILLS]))
  const found = skills ? (await readConfig({ ...base, skills })).problems : problems
  return found.map((problem) => ({ ...problem, text: formatProblems([problem]) }))
}

async function explainId(environs: Environs, id: string): Promise<Json> {
  const connection = await connectOrOpen(environs)
  try {
    return await connection.explain(id)
  } finally {
    await connection.close()
  }
}

/** A message that may never come in; only what the file says of it is matched. */
async function explainFile(environs: Environs, file: string): Promise<Json> {
  const config = await loadFor(environs)()
  let message: Message
  try {
    message = messageSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (cause) {
    const reason = cause instanceof ZodError ? prettifyError(cause) : reasonOf(cause)
    throw new TriviumError(
      'usage',
      { details: `${file} is neither a message id nor a file with a message: ${reason}` },
      { cause },
    )
  }
  return toJson(createRouter(config.routes).explain(message))
}

function humanExplanation(explained: Json): string {
  const routes = Array.isArray(explained) ? explained.filter(isJsonObject) : []
  if (routes.length === 0) return 'There are no routes.'
  const rows = routes.flatMap((route) => {
    const verdict = route.chosen ? 'answers' : route.matched ? 'matches, too late' : 'no'
    const keys: JsonObject[] = Array.isArray(route.keys) ? route.keys.filter(isJsonObject) : []
    const first = [route.route, verdict, ...(keys[0] ? keyCells(keys[0]) : ['matches everything', '', ''])]
    return [first, ...keys.slice(1).map((key) => ['', '', ...keyCells(key)])]
  })
  return table(['route', '', 'key', 'wants', 'message has'], rows)
}

function keyCells(key: JsonObject): unknown[] {
  return [`${key.matched ? '✓' : '✗'} ${key.key}`, key.wanted, key.actual]
}
