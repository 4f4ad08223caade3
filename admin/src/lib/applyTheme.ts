export const THEME_NAME = "webloom-theme"; // in the browser's storage

/** Runs before the page is painted, so that it does not flash in the other theme. */
export const APPLY_THEME = `try{var theme=localStorage.getItem("${THEME_NAME}");if(theme==="light"||theme==="dark")document.documentElement.dataset.theme=theme}catch{}`;
