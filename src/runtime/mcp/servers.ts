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

type Entry = { server: McpServer; connection: McpConnection; tools: RemoteTool[]; isKnown: boolean }

/** How long (ms) the start waits for servers that were never reached, so that routes and models find their tools. */
const FIRST_WAIT = 5_000

/** The MCP servers of routes.yaml. Their tools are stored, so that the skills are known while a server is unreachable. */
export function createMcpServers({ version, kv, login, log }: Deps) {
  const entries = new Map<string, Entry>()
  let changed = (_skills: readonly Skill[]) => {}

  const tell = () =>
    changed(
      [...entries.values()].flatMap(({ server, tools, connection }) =>
        remoteSkills(server, tools, connection.call),
      ),
    )

  const add = async (server: McpServer) => {
    const tools = createToolStore(kv, server.name)
    const known = await tools.read()
    const entry: Entry = {
      server,
      tools: known ?? [],
      isKnown: known !== undefined,
      connection: createMcpConnection({
        server,
        version,
        login: () => login(server),
        listed(found) {
          if (entry.isKnown && isDeepStrictEqual(found, entry.tools)) return
          Object.assign(entry, { tools: found, isKnown: true })
          tell()
          tools
            .write(found)
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
    /** `listener` gets the skills of all servers whenever they change. */
    onChange(listener: typeof changed) {
      changed = listener
    },
    /** Connects to new and changed servers, and removes others. Resolves at once, except for servers that were never reached. */
    async use(servers: readonly McpServer[], { connect }: { connect: boolean }) {
      const gone = [...entries.values()].filter(
        ({ server }) => !servers.some((one) => isDeepStrictEqual(one, server)),
      )
      for (const { server } of gone) entries.delete(server.name)
      const fresh = servers.filter(({ name }) => !entries.has(name))
      await Promise.all([...fresh.map(add), ...gone.map(({ connection }) => connection.close())])
      if (gone.length > 0 || fresh.length > 0) tell()
      if (!connect) return
      // The cause, such as a missing login, may have been fixed.
      for (const { connection } of entries.values()) if (!connection.status().ok) connection.wake()
      const begun = fresh.flatMap(({ name }) => entries.get(name) ?? [])
      for (const { connection } of begun) connection.start()
      const unknown = begun.filter(({ isKnown }) => !isKnown)
      await Promise.race([Promise.all(unknown.map(({ connection }) => connection.tried)), pause(FIRST_WAIT)])
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
    /** Why a name of one of the servers is not a skill; undefined for other names. */
    missing(skill: string): TriviumError | undefined {
      const entry = entries.get(mcpServerOf(skill) ?? '')
      return entry && whyMissing(skill, entry)
    },
    /** Warnings for skills whose `allowed-tools` name tools of an unknown server. */
    strangers: (skills: readonly Skill[]) => strangersIn(skills, [...entries.keys()]),
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

function strangersIn(skills: readonly Skill[], known: readonly string[]): string[] {
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
