import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { reasonOf } from '../../core/errors.ts'
import { type Json, objectsIn, pathGet } from '../../core/json.ts'
import { type AddCommand, type Environs, loadFor, ownFile, usage } from '../command.ts'
import { ask } from '../connection.ts'
import { shorten, show, table } from '../terminal.ts'

/** `trivium skill list|show|new`. */
export const addSkill: AddCommand = (program, context) => {
  const command = program.command('skill').description('the skills: what there is, what they take, a new one')

  command
    .command('list', { isDefault: true })
    .description('every skill by name')
    .action(async () => {
      let broken: unknown
      await ask(
        context,
        async (daemon) => {
          broken = pathGet(await daemon.status(), 'broken')
          return daemon.skills()
        },
        (skills) => listed(skills, broken),
      )
    })

  command
    .command('show <name>')
    .description('what a skill takes, and the layers around it')
    .action((name: string) => ask(context, (daemon) => daemon.describe(name)))

  command
    .command('new <name>')
    .description('make the folder of a new skill')
    .option('--markdown', 'a prompt for a model (SKILL.md) instead of code')
    .action(async (name: string, { markdown }: { markdown?: true }) => {
      const [file, content] = markdown
        ? ['SKILL.md', MARKDOWN]
        : ['index.ts', readFileSync(ownFile('project/skills/hello/index.ts'), 'utf8')]
      const path = await makeSkill(context.environs(), name, file, content.replaceAll('hello', name))
      show(context.terminal(), { path }, () => `Made ${path}. A daemon that runs has it already.`)
    })
}

function listed(skills: Json, broken: unknown): string {
  const rows = objectsIn(skills).map(({ name, description = '' }) => [name, shorten(String(description), 90)])
  const faults = objectsIn(broken).map(({ name, path, reason, kept }) => {
    return [name, path, kept === true ? `${reason} (its last good version answers)` : reason]
  })
  const list = table(['name', 'what it does'], rows)
  return faults.length === 0 ? list : `${list}\n\n${table(['broken', 'path', 'why'], faults)}`
}

/** Makes a skill's folder in the first skills folder of the configuration. Throws `usage` where it is there already. */
async function makeSkill(environs: Environs, name: string, file: string, content: string): Promise<string> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw usage(`A skill's name has lower-case letters, digits and dashes: not ${name}.`)
  }
  const { folders } = (await loadFor(environs)).skills
  const parent = folders[0] ?? resolve(environs.cwd, 'skills')
  const path = join(parent, name, file)
  try {
    await mkdir(parent, { recursive: true })
    await mkdir(join(parent, name))
    await writeFile(path, content)
  } catch (cause) {
    throw usage(`${path} cannot be made: ${reasonOf(cause)}`, cause)
  }
  return path
}

const MARKDOWN = `---
name: hello
description: Answers a message.
metadata:
  session: args.sessionId
---
You answer messages briefly and kindly.

:session-history[]

Answer this message: :arg[text]
`
