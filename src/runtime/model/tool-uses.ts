import { reasonOf } from '../../core/errors.ts'
import { skillOfTool } from '../names.ts'

/** Maximum number of recorded tool calls. */
const MAX_USES = 50
/** Maximum characters of a recorded input. */
const MAX_ARGS = 200

type ToolUse = { tool: string; args: string; ms?: number; error?: string }

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
    end({ toolCallId, error }: { toolCallId: string; error?: unknown }) {
      const use = uses.get(toolCallId)
      if (use) use.ms = Date.now() - use.at
      if (use && error !== undefined) use.error = reasonOf(error)
    },
    list: () => [...uses.values()].map(({ at: _, ...use }): ToolUse => use),
  }
}
