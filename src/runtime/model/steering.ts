import type { ModelMessage } from 'ai'
import type { Steer } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'
import type { RunRecord } from './run-record.ts'

/** Gives the model the messages that arrive during a run, each before its next step. A replay gives them before the same step. */
export function createSteering(run: {
  steer?: Steer | undefined
  record?: RunRecord | undefined
  heard?(message: Message): string
}) {
  const { steer, record } = run
  /** Messages given to the model before each step. */
  const steered: ModelMessage[][] = []
  let heard = 0
  return {
    async prepareStep({ stepNumber, messages }: { stepNumber: number; messages: ModelMessage[] }) {
      if (!steer) return undefined
      const before = record?.heardBy(stepNumber)
      if (before === undefined) await steer.listen()
      const more = steer.messages.slice(heard, before)
      heard += more.length
      record?.hears(heard)
      const given = more.map((one): ModelMessage => ({ role: 'user', content: run.heard?.(one) ?? one.text }))
      steered[stepNumber] = given
      return given.length > 0 ? { messages: [...messages, ...given] } : undefined
    },
    before: (step: number): readonly ModelMessage[] => steered[step] ?? [],
  }
}
