import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { connect, connectOrOpen } from '../connection.ts'
import { type NewSkill, newSkill } from '../new-skill.ts'
import { invokeAndShow, parseArgs } from '../skill-command.ts'
import { pretty, shorten, show, table } from '../terminal.ts'

/** `trivium skill list|show|new|invoke`. */
export const addSkill: AddCommand = (program, context) => {
  const command = program.command('skill').description('the skills: what there is, what they take, a new one')

  command
    .command('list', { isDefault: true })
    .description('every skill by name')
    .action(async () => {
      const connection = await connectOrOpen(context.environs())
      try {
        const [skills, { broken }] = [await connection.skills(), Object(await connection.status())]
        show(context.terminal(), skills, () => {
          const list = table(['name', 'what it does'], rows(skills))
          if (!Array.isArray(broken) || broken.length === 0) return list
          return `${list}\n\n${table(['broken', 'path', 'why'], broken.map(brokenRow))}`
        })
      } finally {
        await connection.close()
      }
    })

  command
    .command('show')
    .description('what a skill takes, and the layers around it')
    .argument('<name>')
    .action(async (name: string) => {
      const connection = await connectOrOpen(context.environs())
      try {
        const skill = await connection.describe(name)
        show(context.terminal(), skill, () => pretty(skill))
      } finally {
        await connection.close()
      }
    })

  command
    .command('new')
    .description('make the folder of a new skill')
    .argument('<name>')
    .option('--markdown', 'a prompt for a model (SKILL.md) instead of code')
    .action(async (name: string, options: { markdown?: boolean }) => {
      const kind = options.markdown ? 'markdown' : 'code'
      const made = await newSkill(context.environs(), name, kind)
      show(context.terminal(), made, () => describeNew(made, name))
    })

  command
    .command('invoke')
    .description('run a skill; `trivium <name> --arg value` is shorter')
    .argument('<name>')
    .option('--args <json>', 'the arguments as a JSON object')
    .action(async (name: string, options: { args?: string }) => {
      const connection = await connect(context.environs())
      await invokeAndShow(connection, name, parseArgs(options.args), context)
    })
}

function describeNew({ path, replaces }: NewSkill, name: string): string {
  const instead = replaces === undefined ? '' : `\nIt takes the place of the ${name} in ${replaces}.`
  return `Made ${path}. A daemon that runs has it already.${instead}`
}

function brokenRow(one: unknown): unknown[] {
  const { name, path, reason, kept } = Object(one)
  return [name, path, kept === true ? `${reason} (its last good version answers)` : reason]
}

function rows(skills: Json): unknown[][] {
  const list: JsonObject[] = Array.isArray(skills) ? skills.filter(isJsonObject) : []
  return list.map(({ name, description }) => [name, shorten(String(description ?? ''), 90)])
}
