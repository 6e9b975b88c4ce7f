import { resolve } from 'node:path'
import { readEnvironment } from '../../config/environment.ts'
import { configPath } from '../../config/load-config.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Actor } from '../../features/documents/spec.ts'
import { tasks, workbench } from '../../features/workbench/operations.ts'
import { taskLine, workbenchText } from '../../features/workbench/print.ts'
import { workbenchAt, workbenchDirOf } from '../../features/workbench/project.ts'
import type { Workbench } from '../../features/workbench/workbench.ts'
import { defined } from '../../lib/defined.ts'
import { type AddCommand, type Environs, usage, userName } from '../command.ts'
import { operationFlags } from '../operation-command.ts'
import { show } from '../terminal.ts'

type Common = { dir?: string; agent?: string }

/** `trivium workbench`: works on the files of the workbench, with or without a daemon. */
export const addWorkbench: AddCommand = (program, context) => {
  const command = program
    .command('workbench')
    .description('the work state and task board shared by agents and people')

  /** Runs `work` on the workbench that the options name, and prints its result. */
  const run = async <T>(
    work: (bench: Workbench, actor: Actor) => Promise<T>,
    human: (result: T) => string,
  ) => {
    const { dir, agent }: Common = Object.assign({}, ...command.commands.map((nested) => nested.opts()))
    const actor: Actor =
      agent === undefined ? { kind: 'human', name: userName() } : { kind: 'agent', name: agent }
    const folder = await workbenchDir(context.environs(), dir)
    const result = await work(workbenchAt(folder), actor)
    show(context.terminal(), result, () => human(result))
  }

  command
    .command('show', { isDefault: true })
    .description('the state and the open tasks')
    .action(() => run((bench) => bench.get(), workbenchText))
  const update = command.command('update').description('change the state; list values are appended')
  const updateFlags = operationFlags(update, workbench.update)
  update.action((options: object) =>
    run(
      (bench, actor) => bench.update(workbench.update.parse(updateFlags.read(options)), actor),
      ({ revision }) => `Changed; the state has revision ${revision}.`,
    ),
  )
  const add = command
    .command('add')
    .description('add a task to the board')
    .argument('<title...>', 'description of the task')
  const addFlags = operationFlags(add, tasks.add, ['title', 'kind'])
  add.action((words: string[], options: object) =>
    run((bench, actor) => bench.add(taskOf(words.join(' '), addFlags.read(options)), actor), taskLine),
  )
  command
    .command('claim [id]')
    .description('take a task; default: the oldest open one')
    .action((id: string | undefined) =>
      run(
        (bench, actor) => bench.claim(defined({ id }), actor),
        (claimed) => (claimed ? taskLine(claimed) : 'No task is open.'),
      ),
    )
  const finish = command.command('finish <id>').description('finish your task')
  const finishFlags = operationFlags(finish, tasks.finish, ['id', 'owner'])
  finish.action((id: string, options: object) =>
    run(
      (bench, actor) => bench.finish(tasks.finish.parse({ ...finishFlags.read(options), id }), actor),
      taskLine,
    ),
  )

  for (const nested of command.commands) {
    nested
      .option('--dir <folder>', 'the folder of the workbench; default: workbench/ beside routes.yaml')
      .option('--agent <name>', "write as this agent: refused within five seconds of a person's edit")
  }
}

/** A task to review something if there is a target, or else to build something. */
function taskOf(title: string, args: JsonObject) {
  const kind = args.target === undefined ? 'build' : 'review'
  const task = tasks.add.parse({ ...args, kind, title })
  if (kind === 'build' && task.acceptance.length === 0)
    throw usage(
      'Give --acceptance "…" (how to see that the task is done), or --review <target> (what to look at).',
    )
  return task
}

/** The folder of the workbench: `dir`, or beside routes.yaml, which may be missing or broken. */
export async function workbenchDir({ env, cwd, path }: Environs, dir?: string): Promise<string> {
  if (dir !== undefined) return resolve(cwd, dir)
  return workbenchDirOf(configPath(cwd, await readEnvironment(cwd, env), path))
}
