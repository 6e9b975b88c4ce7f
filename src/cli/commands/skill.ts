import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileReason } from '../../core/errors.ts'
import { objectsIn, pathGet } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { table } from '../../lib/text-table.ts'
import { type AddCommand, type Environs, loadFor, ownFile, usage } from '../command.ts'
import { ask } from '../connection.ts'
import type { Evaluation } from '../evaluation/run.ts'
import { humanSkill, humanSkills } from '../print-skills.ts'
import { withHealth, withHealthOf } from '../skill-health.ts'
import { show } from '../terminal.ts'

/** `trivium skill list|show|new|test`. */
export const addSkill: AddCommand = (program, context) => {
  const command = program.command('skill').description('list, show, create and test skills')

  command
    .command('list', { isDefault: true })
    .description('your skills, and how they did in the last 7 days; --json lists all')
    .option('--all', 'also the built-in skills, and the words of the assistant')
    .action(async ({ all }: { all?: true }) => {
      let broken: unknown
      await ask(
        context,
        async (daemon) => {
          broken = pathGet(await daemon.status(), 'broken')
          return withHealth(daemon, objectsIn(await daemon.skills()))
        },
        (skills) => humanSkills(objectsIn(skills), broken, all === true),
      )
    })

  command
    .command('show <name>')
    .description('how a skill does, and its arguments and middleware')
    .action((name: string) =>
      ask(context, async (daemon) => withHealthOf(daemon, await daemon.describe(name)), humanSkill),
    )

  command
    .command('new <name>')
    .description('create the folder of a new skill')
    .option('--markdown', 'a prompt for a model (SKILL.md) instead of code')
    .action(async (name: string, { markdown }: { markdown?: true }) => {
      const example = ownFile(markdown ? 'project/skills/SKILL.md' : 'project/skills/hello/index.ts')
      const content = readFileSync(example, 'utf8').replaceAll('hello', name)
      const path = await makeSkill(context.environs(), name, basename(example), content)
      show(context.terminal(), { path }, () => `Created ${path}. A running daemon loads it within seconds.`)
    })

  command
    .command('test <name>')
    .description("run a skill's cases (cases.yaml in its folder) against their recordings")
    .option('--live', 'call the model and run the tools')
    .option('--record', 'like --live, and save the answers beside the cases')
    .option('--case <glob>', 'only cases with this name')
    .action(async (name: string, { live, record, case: only }: TestOptions) => {
      const { evaluate } = await import('../evaluation/run.ts')
      const terminal = context.terminal()
      const modeWithoutRecording = live ? 'live' : 'recorded'
      const mode = record ? 'record' : modeWithoutRecording
      const onCase = (index: number, total: number, caseName: string) =>
        terminal.progress(`${index + 1} of ${total}: ${caseName} …`)
      const result = await evaluate(context.environs(), { name, mode, only }, onCase)
      terminal.progress('')
      show(terminal, result, () => humanEvaluation(result))
      if (!result.ok) context.exit(1)
    })
}

type TestOptions = { live?: true; record?: true; case?: string }

function humanEvaluation({ cases, mode, file }: Evaluation): string {
  const rows = cases.map(({ name, ok, tools, tokens, ms, wrong }) => {
    const called = tools.map((tool) => tool.name).join(', ')
    return [
      name,
      ok ? paint('green', 'ok') : paint('red', 'FAILED'),
      tokens,
      `${ms} ms`,
      called,
      wrong.join('; '),
    ]
  })
  const failed = cases.filter(({ ok }) => !ok).length
  const verdict = failed === 0 ? 'all passed' : `${failed} failed`
  const summary = `${counted(cases.length, 'case')} (${mode}), ${verdict}`
  const list = table(['case', '', 'tokens', 'time', 'tools', 'what is wrong'], rows)
  return [list, '', summary, ...(file ? [`Saved the answers of the passed cases in ${file}`] : [])].join('\n')
}

/** Creates the folder of a skill in the first skills folder. Throws `usage` if it exists. */
async function makeSkill(environs: Environs, name: string, file: string, content: string): Promise<string> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    throw usage(`The name of a skill consists of lower-case letters, digits and dashes, unlike ${name}.`)
  }
  const { folders } = (await loadFor(environs)).skills
  const parent = folders[0] ?? resolve(environs.cwd, 'skills')
  const path = join(parent, name, file)
  try {
    await mkdir(parent, { recursive: true })
    await mkdir(join(parent, name))
    await writeFile(path, content)
  } catch (cause) {
    if (pathGet(cause, 'code') === 'EEXIST')
      throw usage(`${join(parent, name)} already exists. Choose another name.`, cause)
    throw usage(`${path} cannot be created: ${fileReason(cause)}`, cause)
  }
  return path
}
