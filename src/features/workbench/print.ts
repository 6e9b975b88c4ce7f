import { stringify } from 'yaml'
import type { WorkbenchTask } from './records.ts'
import type { Workbench } from './workbench.ts'

/** The workbench as text: the state, then the unfinished tasks. */
export function workbenchText({ state, board }: Awaited<ReturnType<Workbench['get']>>): string {
  const open = board.document.tasks.filter(({ status }) => status !== 'done')
  return stringify({ ...state.document, tasks: open.map(taskLine) }).trimEnd()
}

export function taskLine(task: WorkbenchTask): string {
  const { id, status, title, owner, result } = task
  const kind = task.kind === 'review' ? `review of ${task.target}` : 'build'
  const by = owner === undefined ? '' : ` by ${owner}`
  const end = result === undefined ? '' : `: ${result}`
  return `${id}  ${status}${by}  ${title} (${kind})${end}`
}
