/** The OAuth client at an MCP server. */
type McpOAuth = {
  clientId?: string
  clientSecret?: string
  issuer?: string
  scope?: string
  grant: 'authorization_code' | 'client_credentials'
}

/**
 * An MCP server whose tools become skills, as configured. It has either a `command` or a `url`.
 * Times in ms, sizes in bytes.
 */
export type McpServer = {
  name: string
  /** The working directory of `command`. */
  folder: string
  command?: string
  args?: string[]
  env?: Record<string, string>
  url?: string
  headers?: Record<string, string>
  oauth?: McpOAuth
  allowPrivate: boolean
  tools: string[]
  timeout: number
  maxResult: number
  /** The tools that need an approval: destructive ones, all, none, or those listed. */
  approval: 'destructive' | 'always' | 'never' | string[]
  approvers: string[]
  access?: string[]
}

/** The name of a server, which is the first part of its skills' names. */
export const MCP_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** The server that a skill belongs to; undefined for other skills. */
export function mcpServerOf(skill: string): string | undefined {
  const dot = skill.indexOf('.')
  return dot < 0 ? undefined : skill.slice(0, dot)
}

/**
 * A problem with a tool of a server. `skipped`: the tool did not become a skill; otherwise it did,
 * without the faulty part.
 */
export type McpFault = { tool: string; reason: string; skipped: boolean }

/** A problem with a tool as a line of text. */
export function describeFault({ tool, reason, skipped }: { [Key in keyof McpFault]?: unknown }): string {
  return `${skipped ? 'skipped' : 'repaired'}: ${JSON.stringify(tool)}, ${reason}`
}

/** The state of a server. `login`: it waits for a person to log in. */
export type McpStatus = {
  name: string
  /** Its command or its address. */
  at: string
  ok: boolean
  state: 'up' | 'connecting' | 'down' | 'login'
  /** The problem, or the name of the server and the number of its skills. */
  detail: string
  tools: number
  /** Problems with its tools, if any. */
  faults?: McpFault[]
}
