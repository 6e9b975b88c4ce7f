import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks'
import ICON from './icon.svg'
import {
  findPerson,
  isViewer,
  pendingCalls,
  person,
  provider,
  signIn,
  signInError,
  signOut,
} from './lib/api.js'
import { html } from './lib/html.js'
import { captureKeys, onKey } from './lib/keys.js'
import { later } from './lib/later-file.js'
import { clock, firstState, lostAt, now, state } from './lib/live.js'
import { act, elapsed, Problem, Question, Toast } from './lib/parts.js'
import { useScrollPosition } from './lib/places.js'
import { go, link, renderNow, replace, route } from './lib/router.js'
import { intendedPath } from './lib/view-names.js'
import { VIEWS } from './views/index.js'

function App() {
  if (person.value === undefined) return html`<p class="loading">Trivium …</p>`
  if (person.value === null) return html`<${SignIn} />`
  const [, ...rest] = route.value.path
  const view = viewOf(route.value.path)
  return html`<div class=${`shell ${state.value === 'gone' ? 'is-gone' : ''}`}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Navigation} current=${markedOf(route.value.path)} />
    <${PendingLine} />
    <${ConnectionAlert} />
    <main id="main" tabindex="-1" key=${view?.path}><${ErrorBoundary} of=${rest.join('/')}>${view && html`<${UnknownKeys} view=${view} />`}${view ? html`<${view.Page} path=${rest} query=${route.value.query} />` : html`<${NoSuchPage} path=${route.value.path} />`}<//></main>
    <${ScrollPosition} />
    <${KeyHelp} />
    <${PaletteLoader} />
    <${Question} />
    <${Toast} />
  </div>`
}

function ScrollPosition() {
  useScrollPosition()
  return null
}

/** The view of a path; undefined for an unknown address. */
function viewOf([first = 'now', ...rest]) {
  return VIEWS.find(({ path, parts = Number.POSITIVE_INFINITY }) => path === first && rest.length <= parts)
}

/** The view that the navigation marks for a path. */
function markedOf(path) {
  const view = viewOf(path)
  const marked = view?.marks?.(path.slice(1))
  return marked ? VIEWS.find((each) => each.path === marked) : view
}

function NoSuchPage({ path }) {
  return html`<section class="page" aria-labelledby="title">
    <h1 id="title">There is no such page</h1>
    <p>Nothing is at <code>#/${path.join('/')}</code>. The address may be cut off, or from an older version.</p>
    <ul class="plain">${VIEWS.map((view) => html`<li key=${view.path}><a data-row href=${link(view.path)}>${view.title}</a></li>`)}</ul>
  </section>`
}

/**
 * Shows the error of a view in its place, until the path `of` changes. The rest of the console
 * keeps working.
 */
function ErrorBoundary({ of, children }) {
  const [error, reset] = useErrorBoundary((failure) => reportError(failure))
  useEffect(reset, [of])
  return error ? html`<div class="page"><${Problem} error=${error} retry=${reset} /></div>` : children
}

function skip(event) {
  event.preventDefault()
  document.getElementById('main').focus()
}

const KeyDialog = later.page('KeyDialog')
const UnknownKeys = later.part('UnknownKeys')
const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

function Navigation({ current }) {
  // On a phone, the views are in a menu that closes when one of them is shown.
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [current])
  // As many as Now lists, except what somebody intends, such as a pause, or takes care of.
  const counts = ({ severity, acknowledged }) => severity !== 'info' && !acknowledged
  const problems = now.value?.troubles?.filter(counts).length ?? 0
  const hasBadge = !isOpen && problems > 0 && current?.path !== 'now'
  return html`<header class="side">
    <a class="name" href=${link('now')}><img src=${ICON} alt="" width="22" height="22" />Trivium</a>
    <button type="button" class="go-to" onClick=${() => {
      isPaletteOpen.value = true
    }}><span>Go to …</span> <kbd>${COMMAND_KEY} K</kbd></button>
    <button type="button" class="menu" aria-expanded=${isOpen} aria-controls="views" onClick=${() => setOpen(!isOpen)}><span class="menu-title">${current?.title ?? 'Views'}</span> <span aria-hidden="true">${isOpen ? '✕' : '☰'}</span>${hasBadge && html`<span class="count problems" title=${`${problems} problems on Now`}>${problems}</span>`}</button>
    <nav id="views" aria-label="Views" class=${isOpen ? 'is-open' : ''}>
      <ul>
        ${VIEWS.map(({ path, title, count, begins }) => {
          const many = (path === 'now' ? problems : count?.(now.value)) ?? 0
          return html`<li key=${path} class=${begins ? 'begins' : ''}><a href=${link(path)} aria-current=${path === current?.path ? 'page' : undefined}>
            <span>${title}</span>${many > 0 && html`<span class="count">${many >= 1_000 ? '1000+' : many}</span>`}
          </a></li>`
        })}
        ${(now.value?.queues?.length ?? 0) > 0 && !isViewer.value && html`<li><a href="/queues/">Bull Board</a></li>`}
      </ul>
    </nav>
    <${SessionStatus} />
  </header>`
}

/** The connection, the daemon and the person. */
function SessionStatus() {
  const { daemon, store } = now.value ?? {}
  return html`<div class="session-status">
    <p class=${`lamp ${state.value}`}>${{ live: 'Live', connecting: 'Connecting …', gone: 'No connection' }[state.value]}</p>
    ${daemon && html`<p title=${daemon}>${daemon.split(':')[0]} · ${store}</p>`}
    <p title=${person.value.id}>${person.value.name}${isViewer.value && ' (viewer)'}</p>
    ${isViewer.value && html`<p>You cannot change anything here.</p>`}
    <p><button type="button" class="quiet" onClick=${() => act(signOut)}>Sign out</button></p>
  </div>`
}

/** A line at the top while a call takes longer than a moment. */
function PendingLine() {
  return html`<div class=${`under-way ${pendingCalls.value > 0 ? 'is-on' : ''}`} aria-hidden="true"></div>`
}

/**
 * Shows at once that the connection is lost and the data is old. The space is always reserved, so
 * that nothing moves.
 */
function ConnectionAlert() {
  const isLost = state.value === 'gone'
  return html`<div class="gone" role="alert">${isLost && html`<p>The daemon has not answered for ${elapsed(clock.value - lostAt.value)}. What you see is from before; trying again.</p>`}</div>`
}

/** Defines the keys of the whole console, and shows the help about keys. */
function KeyHelp() {
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    const removers = [
      onKey('?', 'this help', () => setOpen(true)),
      onKey('/', 'search', () => {
        const search = searchField()
        if (search) search.focus()
        else go(route.peek().path[0] === 'people' ? 'people' : 'messages', { focus: 'search' })
      }),
      onKey('Escape', 'back', () => backLink()?.click(), backLink),
      onKey('j', 'next row', () => moveFocus(1), hasRows),
      onKey('k', 'previous row', () => moveFocus(-1), hasRows),
      ...VIEWS.slice(0, 9).map(({ path, title }, index) => onKey(String(index + 1), title, () => go(path))),
    ]
    return () => {
      for (const remove of removers) remove()
    }
  }, [])
  return isOpen && html`<${KeyDialog} commandKey=${COMMAND_KEY} close=${() => setOpen(false)} />`
}

const isPaletteOpen = signal(false)
const closePalette = () =>
  renderNow(() => {
    isPaletteOpen.value = false
  })

/** Opens the palette at Ctrl-K or ⌘K. What is typed while it loads becomes its first text. */
function PaletteLoader() {
  const [Palette, setPalette] = useState()
  const typed = useRef('')
  const isLoading = isPaletteOpen.value && !Palette
  useEffect(() => {
    const press = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k' || event.shiftKey) return
      event.preventDefault()
      if (!document.querySelector('dialog[open]')) isPaletteOpen.value = true
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  useLayoutEffect(() => {
    typed.current = ''
    if (!isLoading) return
    const release = captureKeys((key) => {
      if (key === 'Escape') closePalette()
      else if (key === 'Backspace') typed.current = typed.current.slice(0, -1)
      else if (key.length === 1) typed.current += key
    })
    act(async () => {
      const loaded = await later.fetch().catch((error) => {
        closePalette()
        throw error
      })
      setPalette(() => loaded.Palette)
    })
    return release
  }, [isLoading])
  if (isLoading) return html`<p class="toast palette-loading loads" role="status">Loading …</p>`
  return isPaletteOpen.value && html`<${Palette} start=${typed.current} close=${closePalette} />`
}

/** The first search field that is not in a folded part. */
function searchField() {
  return [...document.querySelectorAll('[type=search]')].find((each) => each.checkVisibility())
}

const backLink = () => document.querySelector('[data-back]')
const rowsOf = () => [...document.querySelectorAll('main [data-row]')]
const hasRows = () => rowsOf().length > 0

/** Moves the focus between elements with `data-row`: links, or parts with a tabindex. */
function moveFocus(by) {
  const rows = rowsOf()
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus()
}

function SignIn() {
  const [fields, setFields] = useState({ token: '', name: '' })
  const [isTrying, setTrying] = useState(false)
  const set = (key) => (event) => setFields({ ...fields, [key]: event.target.value })
  const submit = async (event) => {
    event.preventDefault()
    setTrying(true)
    await signIn(fields.token.trim(), fields.name.trim())
    setTrying(false)
  }
  return html`<main class="sign-in">
    <form class="card" onSubmit=${submit}>
      <h1><img src=${ICON} alt="" width="32" height="32" /> Trivium</h1>
      <p class="dim">Sign in to the console of <b>${location.host}</b>.</p>
      ${
        provider.value &&
        html`<a class="button primary" href=${`/auth/sign-in?${new URLSearchParams({ at: location.hash.slice(1) })}`}>Sign in with ${provider.value}</a>
      <p class="or">or with the control token</p>`
      }
      <label for="token">Control token</label>
      <input id="token" type="password" autocomplete="off" autofocus spellcheck=${false} required aria-invalid=${signInError.value !== ''} aria-describedby="token-error token-hint" value=${fields.token} onInput=${set('token')} />
      <p class="error" id="token-error" role="alert">${signInError.value}</p>
      <p class="hint" id="token-hint">It is in the file <code>control-token</code> of the data directory, unless you have set <code>TRIVIUM_TOKEN</code>.</p>
      <label for="name">Your name <span class="dim">(optional)</span></label>
      <input id="name" autocomplete="name" maxlength="64" aria-describedby="name-hint" value=${fields.name} onInput=${set('name')} />
      <p class="hint" id="name-hint">The audit log shows it with your decisions and changes.</p>
      <button type="submit" class=${provider.value ? '' : 'primary'} disabled=${isTrying}>${isTrying ? 'Signing in …' : 'Open the console'}</button>
    </form>
  </main>`
}

// Before the title and the page, which would otherwise say that there is no such page.
effect(() => {
  const { path, query } = route.value
  const intended = viewOf(path) ? undefined : intendedPath(path)
  if (intended) replace(intended, query)
})
effect(() => {
  document.title = `${markedOf(route.value.path)?.title ?? 'No such page'} · Trivium`
})
const app = document.getElementById('app')
app.replaceChildren()
findPerson()
firstState.then(later.fetch).catch(() => undefined)
render(html`<${App} />`, app)
