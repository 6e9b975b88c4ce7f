import { isOperator } from '../../core/identity.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { isCommandLine } from '../../core/viewer.ts'
import type { AssistantContext } from './context.ts'
import type * as operations from './operations.ts'

const APPROVAL_WORDS = '- "yes", "no": decides on an approval in this conversation, if you are an approver.'

/** Lists the words that a caller may use. */
export function createHelp(context: Pick<AssistantContext, 'words' | 'requireAccess'>) {
  return {
    async 'assistant-help'(_, call) {
      const isVerified = call.caller.id !== undefined || isOperator(call.caller)
      const permitted = await Promise.all(
        context.words().map(async (word) => {
          if (word.verified && !isVerified) return []
          const refusal = await context.requireAccess(word.name, call).catch((error: unknown) => error)
          return refusal === undefined ? [word] : []
        }),
      )
      const words = permitted.flat()
      const lines = words.map(({ description }) => `- ${description}`)
      if (call.message && (isVerified || isCommandLine(call.message))) lines.push(APPROVAL_WORDS)
      const noCommands = 'There are no commands here; routes.yaml determines what answers.'
      return { text: lines.length > 0 ? `Commands:\n${lines.join('\n')}` : noCommands, words }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}
