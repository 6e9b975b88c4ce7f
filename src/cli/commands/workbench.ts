import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { readEnvironment } from '../../config/environment.ts'
import { configPath } from '../../config/load-config.ts'
import type { Actor } from '../../features/documents/spec.ts'
import { workbenchAt, workbenchDirOf } from '../../features/workbench/project.ts'
import type { WorkbenchTask } from '../../features/workbench/records.ts'
import type { Workbench } from '../../features/workbench/workbench.ts'
import { defined } from '../../lib/defined.ts'
import { type AddCommand, type Environs, usage, userName, wholeNumber } from '../command.ts'
import { show } from '../terminal.ts'

type Common = { dir?: string; agent?: string }
type UpdateOptions = {
  activeTask?: string
  nextAction?: string
  touched?: string[]
  assumption?: string[]
  risk?: string[]
  remove?: string[]
  unset?: string[]
  expect?: number
}
type AddOptions = { acceptance?: string[]; review?: string; reviewer?: string }

/** `trivium workbench`: what people do at the workbench. Works on its files, with and without a daemon. */
export const addWorkbench: AddCommand = (program, context) => {
  const command = program
    .command('workbench')
    .description('the work state and task board shared by agents and people')

  /** Runs `work` on the workbench that the options name, and prints its result. */
  const run = async <T>(
    work: (workbench: Workbench, actor: Actor) => Promise<T>,
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
    .action(() => run((workbench) => workbench.get(), workbenchText))
  command
    .command('update')
    .description('change the state; list values are appended')
    .option('--active-task <id>', 'the active task; `none` for no task')
    .option('--next-action <text>', 'the next action')
    .option('--touched <file...>', 'changed files')
    .option('--assumption <text...>', 'an assumption')
    .option('--risk <text...>', 'a risk')
    .option('--remove <text...>', 'items to remove from the lists')
    .option('--unset <field...>', 'fields to delete; standard fields become empty')
    .option('--expect <revision>', 'only if the state is still at this revision', wholeNumber('--expect'))
    .action((options: UpdateOptions) =>
      run(
        (workbench, actor) => workbench.update(changesOf(options), actor),
        ({ revision }) => `Changed; the state has revision ${revision}.`,
      ),
    )
  command
    .command('add')
    .description('add a task to the board')
    .argument('<title...>', 'description of the task')
    .option('--acceptance <line...>', 'for building: acceptance criteria')
    .option('--review <target>', 'for a review: its target')
    .option('--reviewer <name>', 'who should review it')
    .action((words: string[], options: AddOptions) =>
      run((workbench, actor) => workbench.add(taskOf(words.join(' '), options), actor), taskLine),
    )
  command
    .command('claim [id]')
    .description('take a task; default: the oldest open one')
    .action((id: string | undefined) =>
      run(
        (workbench, actor) => workbench.claim(defined({ id }), actor),
        (task) => (task ? taskLine(task) : 'No task is open.'),
      ),
    )
  command
    .command('finish <id>')
    .description('finish your task')
    .option('--result <text>', 'result')
    .action((id: string, { result }: { result?: string }) =>
      run((workbench, actor) => workbench.finish({ id, ...defined({ result }) }, actor), taskLine),
    )

  for (const nested of command.commands) {
    nested
      .option('--dir <folder>', 'the folder of the workbench; default: workbench/ beside routes.yaml')
      .option('--agent <name>', "write as this agent: refused within five seconds of a person's edit")
  }
}

function changesOf(options: UpdateOptions) {
  const { activeTask, nextAction, touched, assumption, risk, remove, unset, expect } = options
  const removed = remove && { touched_files: remove, assumptions: remove, risks: remove }
  const active_task_id = activeTask === 'none' ? null : activeTask
  return {
    set: defined({ active_task_id, next_action: nextAction }),
    add: defined({ touched_files: touched, assumptions: assumption, risks: risk }),
    ...defined({ expect, unset, remove: removed }),
  }
}

function taskOf(title: string, { acceptance = [], review, reviewer }: AddOptions) {
  if (review === undefined && acceptance.length === 0)
    throw usage('Say how to see that it is done (--acceptance "…"), or what to look at (--review <target>).')
  const kind = review === undefined ? ('build' as const) : ('review' as const)
  return { kind, title, acceptance, ...defined({ target: review, reviewer }) }
}

/** The workbench as text: the state, then the unfinished tasks. */
function workbenchText({ state, board }: Awaited<ReturnType<Workbench['get']>>): string {
  const open = board.document.tasks.filter(({ status }) => status !== 'done')
  return stringify({ ...state.document, tasks: open.map(taskLine) }).trimEnd()
}

function taskLine(task: WorkbenchTask): string {
  const { id, status, title, owner, result } = task
  const kind = task.kind === 'review' ? `review of ${task.target}` : 'build'
  const by = owner === undefined ? '' : ` by ${owner}`
  const end = result === undefined ? '' : `: ${result}`
  return `${id}  ${status}${by}  ${title} (${kind})${end}`
}

/** The folder of the workbench: the given one, or beside routes.yaml, which may be missing or broken. */
export async function workbenchDir({ env, cwd, path }: Environs, dir?: string): Promise<string> {
  if (dir !== undefined) return resolve(cwd, dir)
  return workbenchDirOf(configPath(cwd, await readEnvironment(cwd, env), path))
}
