import { contentText } from '../documents/print.ts'
import type { WorkbenchTask } from './records.ts'
import type { Workbench } from './workbench.ts'

/** The workbench as text: the state, then the unfinished tasks. */
export function workbenchText({ state, board }: Awaited<ReturnType<Workbench['get']>>): string {
  const { schema_version: _, ...content } = state.document
  const open = board.document.tasks.filter(({ status }) => status !== 'done')
  const tasks = open.length === 0 ? 'No open tasks.' : ['Open tasks', ...open.map(taskLine)].join('\n')
  return `${contentText(content)}\n\n${tasks}`
}

export function taskLine(task: WorkbenchTask): string {
  const { id, status, title, owner, result } = task
  const kind = task.kind === 'review' ? `review of ${task.target}` : 'build'
  const by = owner === undefined ? '' : ` by ${owner}`
  const end = result === undefined ? '' : `: ${result}`
  return `${id}  ${status}${by}  ${title} (${kind})${end}`
}
