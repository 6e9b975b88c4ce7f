import { reasonOf } from '../../core/errors.ts'
import { headOf } from '../../lib/head-of.ts'
import { skillOfTool } from '../names.ts'

/** Maximum number of recorded tool calls. */
const MAX_USES = 50
/** Maximum characters of a recorded input. */
const MAX_ARGS = 200
/** Maximum characters of a recorded answer. An erasure only finds persons in texts of up to 500. */
const MAX_ANSWER = 450

type ToolUse = { tool: string; args: string; ms?: number; error?: string; answer?: string }
type End = { toolCallId: string; error?: unknown; output?: unknown }

export type ToolUses = ReturnType<typeof createToolUses>

/** Records the tool calls of a model, for the history of the message. */
export function createToolUses() {
  const uses = new Map<string, ToolUse & { at: number }>()
  return {
    begin({ toolCallId, toolName, input }: { toolCallId: string; toolName: string; input: unknown }) {
      const tool = skillOfTool(toolName)
      const args = (JSON.stringify(input) ?? '').slice(0, MAX_ARGS)
      if (uses.size < MAX_USES) uses.set(toolCallId, { tool, args, at: Date.now() })
    },
    end({ toolCallId, error, output }: End) {
      const use = uses.get(toolCallId)
      if (!use) return
      use.ms = Date.now() - use.at
      if (error !== undefined) use.error = reasonOf(error)
      else if (output !== undefined && output !== null) use.answer = headOf(textOf(output), MAX_ANSWER)
    },
    list: () => [...uses.values()].map(({ at: _, ...use }): ToolUse => use),
  }
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
}
