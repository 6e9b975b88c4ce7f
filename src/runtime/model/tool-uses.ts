import { reasonOf } from '../../core/errors.ts'
import { skillOfTool } from '../names.ts'

/** Tools that are told of, and characters of what one was given. */
const USES = 50
const GIVEN = 200

type ToolUse = { tool: string; args: string; ms?: number; error?: string }

/** What a model did with its tools, for the history of the message. */
export function createToolUses() {
  const uses = new Map<string, ToolUse & { at: number }>()
  return {
    begin({ toolCallId, toolName, input }: { toolCallId: string; toolName: string; input: unknown }) {
      const tool = skillOfTool(toolName)
      const args = (JSON.stringify(input) ?? '').slice(0, GIVEN)
      if (uses.size < USES) uses.set(toolCallId, { tool, args, at: Date.now() })
    },
    end({ toolCallId, error }: { toolCallId: string; error?: unknown }) {
      const use = uses.get(toolCallId)
      if (use) use.ms = Date.now() - use.at
      if (use && error !== undefined) use.error = reasonOf(error)
    },
    list: () => [...uses.values()].map(({ at: _, ...use }): ToolUse => use),
  }
}
