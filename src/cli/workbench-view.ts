import type { Workbench } from '../state/workbench.ts'
import type { Task } from '../state/workbench-documents.ts'

/** The workbench for people: the state, then the tasks that are not done. */
export function workbenchText({ state, board }: Awaited<ReturnType<Workbench['get']>>): string {
  const { active_task_id, next_action, touched_files, assumptions, risks, last_human_touch } = state.document
  const { tasks } = board.document
  const open = tasks.filter(({ status }) => status !== 'done')
  return [
    `active task   ${active_task_id ?? '-'}`,
    `next action   ${next_action || '-'}`,
    ...list('touched files', touched_files),
    ...list('assumptions', assumptions),
    ...list('risks', risks),
    ...(last_human_touch === null ? [] : [`human touch   ${last_human_touch}`]),
    '',
    `Tasks: ${open.length} open, ${tasks.length - open.length} done`,
    ...open.map((task) => `  ${taskLine(task)}`),
  ].join('\n')
}

/** One task in a line. */
export function taskLine(task: Task): string {
  const { id, status, title, owner, result } = task
  const about = task.kind === 'review' ? `review of ${task.target}` : 'build'
  const by = owner === undefined ? '' : ` by ${owner}`
  return `${id}  ${status}${by}  ${title} (${about})${result === undefined ? '' : `: ${result}`}`
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  - ${line}`)]
}
