import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { LockView } from './lock-view.js'
import { NowView, type NowSettings } from './now-view.js'
import { BoardStore } from './store.js'
import { counted, spoken } from './words.js'

/** `#/lock/<name>` is one lock, everything else the table. */
function lockInAddress(): string | null {
  const [, name] = /^#\/lock\/(.+)$/.exec(location.hash) ?? []
  try {
    return name === undefined ? null : decodeURIComponent(name)
  } catch {
    return null
  }
}

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

function keptTheme(): Theme {
  try {
    const kept = localStorage.getItem('holdfast-theme')
    return THEMES.find((theme) => theme === kept) ?? 'auto'
  } catch {
    return 'auto'
  }
}

function ThemeButton() {
  const [theme, setTheme] = useState(keptTheme)
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    try {
      localStorage.setItem('holdfast-theme', theme)
    } catch {
      // Without storage it is kept for this page.
    }
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme
  return (
    <button type="button" class="quiet" onClick={() => setTheme(next)}>
      Colours: {theme}
    </button>
  )
}

function Status({ store }: { store: BoardStore }) {
  const { connection, state } = store
  const text =
    connection === 'lost'
      ? 'No connection to the board. Trying again.'
      : state?.trouble
        ? `Redis: ${state.trouble}`
        : connection === 'live'
          ? 'Live'
          : 'Connecting'
  const isBad = connection === 'lost' || (state?.trouble ?? '') !== ''
  return (
    <p class={isBad ? 'status bad' : 'status'} role="status">
      {text}
    </p>
  )
}

/** What the figures are of. */
function Sources({ store }: { store: BoardStore }) {
  const { state } = store
  if (!state) {
    return null
  }
  const { passes, keysInPass, passBeganAt, now, clients } = state
  const search =
    passes === 0
      ? `searching Redis: ${counted(keysInPass, 'key')} so far`
      : `all keys searched ${counted(passes, 'time')}, ${spoken(now - passBeganAt)} into the next`
  return (
    <p class="sources">
      {counted(clients, 'client reports', 'clients report')}; {search}
    </p>
  )
}

function Board({ title }: { title: string }) {
  const [, redraw] = useState(0)
  const kept = useRef<BoardStore | null>(null)
  const [name, setName] = useState(lockInAddress)
  const [settings, setSettings] = useState<NowSettings>({
    filter: '',
    sorting: { key: 'waiting', isDown: true },
  })
  const store = (kept.current ??= new BoardStore(() => redraw((count) => count + 1)))
  useEffect(() => {
    const follow = (): void => setName(lockInAddress())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  useEffect(() => {
    if (name !== null) {
      return undefined
    }
    // A table that nobody sees needs no connection; the picture of one lock would have a gap.
    const follow = (): void => (document.hidden ? store.rest() : store.showTable())
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => document.removeEventListener('visibilitychange', follow)
  }, [store, name])
  useEffect(() => {
    document.title = name === null ? title : `${name} · ${title}`
  }, [name, title])
  return (
    <>
      <header>
        <h1>
          <a href="#/">{title}</a>
        </h1>
        <Status store={store} />
        <Sources store={store} />
        <ThemeButton />
      </header>
      <main>
        {name === null ? (
          <NowView store={store} settings={settings} onSettings={setSettings} />
        ) : (
          <LockView key={name} name={name} store={store} />
        )}
      </main>
    </>
  )
}

const root = document.getElementById('board')
if (root) {
  render(<Board title={root.dataset.title ?? 'Locks'} />, root)
}
