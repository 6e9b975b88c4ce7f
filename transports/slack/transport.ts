import type { JsonObject } from '../../src/core/json.ts'
import type { Health, Identity, Transport } from '../../src/core/transport.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { createAssistant } from './assistant.ts'
import { createBolt } from './bolt/bolt.ts'
import { checkSlack } from './check.ts'
import { createGapFill } from './gaps/gap-fill.ts'
import type { SlackDeps } from './host.ts'
import { createHttpListener } from './http.ts'
import { createAnswers } from './inbound/answers.ts'
import { createInbound } from './inbound/inbound.ts'
import type { Listener } from './listener.ts'
import type { SlackOptions } from './options.ts'
import { createCalls } from './outbound/calls.ts'
import { createSender } from './outbound/sender.ts'
import { createProgress } from './progress.ts'
import { createSocketMode } from './socket.ts'
import { createUserGroups } from './user-groups.ts'
import type { Workspace } from './workspaces/workspace.ts'
import { createWorkspaces, whyNotReady } from './workspaces/workspaces.ts'

const BACKOFF = { first: 1000, longest: 30_000 }

/** Wires one Slack gateway. Does no I/O before `start`, or the first `send`. */
export function createSlackTransport(options: SlackOptions, deps: SlackDeps): Transport {
  const parts = makeParts(options, deps)
  const { workspaces, sender, bolt } = parts
  const listener = createListener(options, deps, parts)
  const stopping = new AbortController()
  let fault = ''
  let isIdentified = false
  let unserve: (() => void) | undefined

  /** Asks Slack who the bot is until it answers, then listens. */
  const begin = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        await workspaces.ready()
        isIdentified = true
        await parts.groups.start()
        void bolt.prepare()
        if (stopping.signal.aborted) return
        listener.start()
        return void parts.progress.resume()
      } catch (error) {
        const wait = backoff(++failures, BACKOFF)
        // Its other faults, and those of its apps, must not wait for a good token.
        if (fault === '') void bolt.inspection.run()
        fault = whyNotReady(error)
        deps.log.warn({ err: error, wait }, 'Slack does not say who the bot is; trying again')
        await pause(wait, stopping.signal)
      }
    }
  }

  const health = (): Health =>
    isIdentified
      ? healthOf(parts, listener)
      : {
          ok: fault === '',
          detail: [fault || 'waiting for Slack to say who the bot is', ...bolt.inspection.faults()].join(
            '; ',
          ),
        }

  return {
    installs: workspaces.installs,
    identity: () => identityOf(workspaces.only()),
    async start() {
      unserve = workspaces.installs?.serve()
      // A daemon does not wait for an unavailable Slack.
      void begin()
    },
    send: sender.send,
    probe: sender.probe,
    stream: sender.stream,
    working: parts.assistant.working,
    listen: bolt.listen,
    async stop() {
      stopping.abort()
      unserve?.()
      if (isIdentified) await listener.stop()
      await parts.inbound.stop()
      parts.progress.stop()
      parts.groups.stop()
      await parts.gaps?.stop()
    },
    async close() {
      await bolt.close()
      sender.close()
    },
    health,
    async check() {
      const checks = await checkSlack(options, workspaces, isIdentified ? health : undefined, deps)
      if (isIdentified) return checks
      await bolt.inspection.run()
      const broken = bolt.inspection.faults()
      return [...checks, ...broken.map((detail) => ({ name: 'Bolt app', ok: false, detail }))]
    },
  }
}

type Parts = ReturnType<typeof makeParts>

function makeParts(options: SlackOptions, deps: SlackDeps) {
  const workspaces = createWorkspaces(options, deps)
  const groups = createUserGroups(options, deps, workspaces)
  const progress = createProgress(options, deps, workspaces)
  const calls = createCalls(options, deps)
  const bolt = createBolt(options, deps, workspaces, calls)
  const sender = createSender(options, deps, workspaces, calls)
  const assistant = createAssistant(options, deps, workspaces, sender.streamed)
  const accepted: Parameters<typeof createInbound>[3] = (draft, taken) => {
    if (taken.isFollowed) progress.follow(draft, taken)
    void assistant.arrived(draft, taken)
  }
  const inbound = createInbound(options, deps, workspaces, accepted, groups.of)
  const answer = createAnswers(options, deps, inbound.take, bolt, groups.of)
  const gaps = createGapFill(options, deps, workspaces, inbound)
  return { workspaces, groups, progress, bolt, sender, assistant, inbound, answer, gaps }
}

/** The socket or HTTP path that receives payloads, and their handling. */
function createListener(options: SlackOptions, deps: SlackDeps, parts: Parts): Listener {
  const { workspaces, groups, sender, answer, gaps } = parts

  const take = async (payload: JsonObject, retry = 0): Promise<object | undefined> => {
    const workspace = await workspaces.of(payload)
    // Acknowledged, because Slack would repeat it, and disables all events after many failures.
    if (!workspace) return undefined
    const opened = payload.view === undefined ? undefined : await sender.placeOf(payload)
    const delivery = { payload, workspace, retry, opened }
    groups.heard(payload)
    const taken = await (gaps ? gaps.watch(delivery, () => answer(delivery)) : answer(delivery))
    await workspaces.installs?.heard(payload, workspace)
    return taken?.response
  }

  const listening = { take, connected: () => gaps?.connected() }
  return options.mode === 'http'
    ? createHttpListener(options, deps, listening)
    : createSocketMode(options, deps, listening)
}

const identityOf = (one: Workspace | undefined): Identity | undefined =>
  one && { team: one.team, teamName: one.name, user: one.botUser }

/** A gateway that receives from only some of its workspaces is unhealthy. */
function healthOf({ workspaces, groups, bolt, gaps }: Parts, listener: Listener): Health {
  const { ok, detail, gauges } = listener.health()
  const filling = gaps?.status() ?? { ok: true, detail: [] }
  const faults = [...workspaces.faults(), ...groups.faults(), ...bolt.faults()]
  return {
    ok: ok && filling.ok && faults.length === 0,
    detail: [detail, filling.detail, faults].flat().join('; '),
    gauges,
  }
}
