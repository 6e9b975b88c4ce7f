import type { ModelMessage } from 'ai'
import type { Steer } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'
import type { RunRecord } from './run-record.ts'

/**
 * Gives the model the messages that arrive during a run, before the next step. A replay gives each
 * message before the same step as the first time.
 */
export function createSteering(run: {
  steer?: Steer | undefined
  record?: RunRecord | undefined
  renderArrival?(message: Message): string
}) {
  const { steer, record } = run
  /** The messages that were inserted before each step. */
  const inserted: ModelMessage[][] = []
  let count = 0
  return {
    async prepareStep({ stepNumber, messages }: { stepNumber: number; messages: ModelMessage[] }) {
      if (!steer) return undefined
      const recordedCount = record?.messagesBefore(stepNumber)
      if (recordedCount === undefined) await steer.listen()
      const arrived = steer.messages.slice(count, recordedCount)
      count += arrived.length
      record?.setMessageCount(count)
      const added = arrived.map(
        (one): ModelMessage => ({ role: 'user', content: run.renderArrival?.(one) ?? one.text }),
      )
      inserted[stepNumber] = added
      return added.length > 0 ? { messages: [...messages, ...added] } : undefined
    },
    before: (step: number): readonly ModelMessage[] => inserted[step] ?? [],
  }
}
