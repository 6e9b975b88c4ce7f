import { isDeepStrictEqual } from 'node:util'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { MCP_NAME, type McpServer, type McpStatus, mcpServerOf } from '../../core/mcp.ts'
import type { Skill } from '../../core/skill.ts'
import type { KeyValues } from '../../core/store.ts'
import { didYouMean, noSuch } from '../../lib/nearest.ts'
import { pause } from '../../lib/pause.ts'
import { createNameMatcher, nameSpec } from '../names.ts'
import { createMcpConnection, type McpConnection } from './connection.ts'
import { remoteSkills } from './remote-skill.ts'
import type { RemoteTool } from './tool-list.ts'
import { createToolStore } from './tool-store.ts'

export type McpServers = ReturnType<typeof createMcpServers>

type Deps = {
  version: string
  kv: KeyValues
  /** The server's OAuth login, if any. */
  login(server: McpServer): Promise<OAuthClientProvider | undefined>
  log: Log
}

/** `isKnown`: whether the server was ever reached, so that its tools are known. */
type Entry = { server: McpServer; connection: McpConnection; tools: RemoteTool[]; isKnown: boolean }

/**
 * How long (ms) the start waits for servers that were never reached, so that routes and models find
 * their tools.
 */
const MAX_START_WAIT = 5_000

/**
 * The MCP servers of routes.yaml. Their tools are stored, so that the skills are known while a
 * server is unreachable.
 */
export function createMcpServers({ version, kv, login, log }: Deps) {
  const entries = new Map<string, Entry>()
  let listener = (_skills: readonly Skill[]) => {}

  const notify = () =>
    listener(
      [...entries.values()].flatMap(({ server, tools, connection }) =>
        remoteSkills(server, tools, connection.call),
      ),
    )

  const add = async (server: McpServer) => {
    const toolStore = createToolStore(kv, server.name)
    const stored = await toolStore.read()
    const entry: Entry = {
      server,
      tools: stored ?? [],
      isKnown: stored !== undefined,
      connection: createMcpConnection({
        server,
        version,
        login: () => login(server),
        listed(tools) {
          if (entry.isKnown && isDeepStrictEqual(tools, entry.tools)) return
          Object.assign(entry, { tools, isKnown: true })
          notify()
          toolStore
            .write(tools)
            .catch((err: unknown) =>
              log.warn({ mcp: server.name, err }, 'the tools of an MCP server could not be stored'),
            )
        },
        log,
      }),
    }
    entries.set(server.name, entry)
  }

  return {
    /** Calls `next` with the skills of all servers after changes. Replaces an earlier listener. */
    onChange(next: typeof listener) {
      listener = next
    },
    /** Connects to new and changed servers, and removes others. Waits only for unknown ones. */
    async use(servers: readonly McpServer[], { connect }: { connect: boolean }) {
      const removed = [...entries.values()].filter(
        ({ server }) => !servers.some((one) => isDeepStrictEqual(one, server)),
      )
      for (const { server } of removed) entries.delete(server.name)
      const added = servers.filter(({ name }) => !entries.has(name))
      await Promise.all([...added.map(add), ...removed.map(({ connection }) => connection.close())])
      if (removed.length > 0 || added.length > 0) notify()
      if (!connect) return
      // Tries unconnected servers again: the cause, such as a missing login, may have been fixed.
      for (const { connection } of entries.values()) if (!connection.status().ok) connection.wake()
      const started = added.flatMap(({ name }) => entries.get(name) ?? [])
      for (const { connection } of started) connection.start()
      const unknown = started.filter(({ isKnown }) => !isKnown)
      const firstAttempts = unknown.map(({ connection }) => connection.firstAttempt)
      await Promise.race([Promise.all(firstAttempts), pause(MAX_START_WAIT)])
    },
    list: (): McpStatus[] => [...entries.values()].map(({ connection }) => connection.status()),
    names: () => [...entries.keys()],
    /** Connects to each server once without a running daemon, and returns the results. */
    async try(servers: readonly McpServer[]): Promise<McpStatus[]> {
      await Promise.all(servers.map(add))
      const all = [...entries.values()]
      await Promise.all(all.map(({ connection }) => connection.once()))
      return all.map(({ connection }) => connection.status())
    },
    /** Why a name that begins with a known server is not a skill; undefined for other names. */
    missing(skill: string): TriviumError | undefined {
      const entry = entries.get(mcpServerOf(skill) ?? '')
      return entry && whyMissing(skill, entry)
    },
    /** Warnings for skills whose `allowed-tools` name tools of an unknown server. */
    unknownServers: (skills: readonly Skill[]) => unknownServersIn(skills, [...entries.keys()]),
    close: () => Promise.all([...entries.values()].map(({ connection }) => connection.close())),
  }
}

function whyMissing(skill: string, { server, tools, connection, isKnown }: Entry): TriviumError {
  const { ok, detail } = connection.status()
  if (!ok && !isKnown)
    return new TriviumError('mcp_unavailable', { server: server.name, reason: detail, todo: '' })
  const names = remoteSkills(server, tools, connection.call).map(({ name }) => name)
  return new TriviumError('skill_not_found', { name: skill, hint: didYouMean(skill, names) })
}

function unknownServersIn(skills: readonly Skill[], known: readonly string[]): string[] {
  return skills.flatMap(({ name, metadata }) => {
    const allowed = nameSpec.safeParse(metadata?.['allowed-tools']).data ?? []
    const servers = createNameMatcher(allowed)
      .spec.split(/[\s,]+/)
      .flatMap((one) => mcpServerOf(one) ?? [])
    return servers
      .filter((server) => MCP_NAME.test(server) && !known.includes(server))
      .map((server) => `skill ${name}: allowed-tools: ${noSuch('MCP server', server, known)}`)
  })
}
