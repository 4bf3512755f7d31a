package frontend

// What TeX's commands are called in Unicode.

var texLetters = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
	"vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "varpi": "ϖ", "rho": "ρ",
	"varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ", "upsilon": "υ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ",
	"omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ",
	"Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "infty": "∞", "ell": "ℓ", "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "wp": "℘",
	"emptyset": "∅", "varnothing": "∅", "imath": "ı", "jmath": "ȷ", "top": "⊤", "bot": "⊥", "angle": "∠", "triangle": "△",
	"degree": "°", "%": "%", "#": "#", "&": "&amp;", "$": "$", "_": "_",
}

var texOperators = map[string]string{
	"times": "×", "cdot": "⋅", "div": "÷", "pm": "±", "mp": "∓", "ast": "∗", "star": "⋆", "circ": "∘", "bullet": "∙", "oplus": "⊕",
	"ominus": "⊖", "otimes": "⊗", "odot": "⊙", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
	"equiv": "≡", "sim": "∼", "simeq": "≃", "cong": "≅", "propto": "∝", "ll": "≪", "gg": "≫", "lt": "&lt;", "gt": "&gt;",
	"in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "supset": "⊃", "subseteq": "⊆", "supseteq": "⊇", "cup": "∪", "cap": "∩",
	"setminus": "∖", "wedge": "∧", "land": "∧", "vee": "∨", "lor": "∨", "neg": "¬", "lnot": "¬", "forall": "∀", "exists": "∃",
	"nexists": "∄", "to": "→", "rightarrow": "→", "leftarrow": "←", "gets": "←", "leftrightarrow": "↔", "Rightarrow": "⇒",
	"Leftarrow": "⇐", "Leftrightarrow": "⇔", "implies": "⟹", "iff": "⟺", "mapsto": "↦", "longrightarrow": "⟶", "uparrow": "↑",
	"downarrow": "↓", "hookrightarrow": "↪", "rightharpoonup": "⇀", "nabla": "∇", "partial": "∂", "prime": "′", "dagger": "†",
	"mid": "∣", "parallel": "∥", "perp": "⟂", "vdash": "⊢", "models": "⊨", "ldots": "…", "dots": "…", "cdots": "⋯", "vdots": "⋮",
	"ddots": "⋱", "colon": ":", "coloneqq": "≔", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
	"rceil": "⌉", "{": "{", "}": "}", "|": "‖", "vert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|",
	"backslash": "\\", "prec": "≺", "succ": "≻", "preceq": "⪯", "succeq": "⪰", "because": "∵", "therefore": "∴", "checkmark": "✓",
}

var texLarge = map[string]string{
	"sum": "∑", "prod": "∏", "coprod": "∐", "int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮", "bigcup": "⋃", "bigcap": "⋂",
	"bigoplus": "⨁", "bigotimes": "⨂", "bigvee": "⋁", "bigwedge": "⋀",
}

var texFunctions = map[string]bool{
	"sin": true, "cos": true, "tan": true, "cot": true, "sec": true, "csc": true, "arcsin": true, "arccos": true, "arctan": true,
	"sinh": true, "cosh": true, "tanh": true, "log": true, "ln": true, "lg": true, "exp": true, "lim": true, "limsup": true,
	"liminf": true, "max": true, "min": true, "sup": true, "inf": true, "arg": true, "argmax": true, "argmin": true, "det": true,
	"dim": true, "ker": true, "gcd": true, "deg": true, "hom": true, "Pr": true,
}

// texBelow are functions whose conditions stand below them.
var texBelow = map[string]bool{
	"lim": true, "limsup": true, "liminf": true, "max": true, "min": true, "sup": true, "inf": true, "argmax": true, "argmin": true,
	"det": true, "gcd": true, "Pr": true,
}

var texSpaces = map[string]string{
	",": "0.167em", ":": "0.222em", ";": "0.278em", "!": "-0.167em", " ": "0.333em", "quad": "1em", "qquad": "2em", "enspace": "0.5em",
	"thinspace": "0.167em",
}

var texAccents = map[string]string{
	"hat": "^", "widehat": "^", "bar": "¯", "overline": "¯", "tilde": "~", "widetilde": "~", "vec": "→", "overrightarrow": "→",
	"dot": "˙", "ddot": "¨", "check": "ˇ", "breve": "˘", "overbrace": "⏞", "underbrace": "⏟", "underline": "_",
}

var texFontNames = map[string]string{
	"mathbf": "bold", "boldsymbol": "bold", "bm": "bold", "mathbb": "double", "mathcal": "script", "mathscr": "script",
	"mathfrak": "fraktur", "mathrm": "normal", "mathsf": "sans", "mathtt": "mono", "mathit": "",
}

// texFonts are where the alphabets begin: capitals, small letters, digits (0 = none).
var texFonts = map[string][3]rune{
	"bold": {0x1D400, 0x1D41A, 0x1D7CE}, "double": {0x1D538, 0x1D552, 0x1D7D8}, "script": {0x1D49C, 0x1D4B6, 0},
	"fraktur": {0x1D504, 0x1D51E, 0}, "sans": {0x1D5A0, 0x1D5BA, 0x1D7E2}, "mono": {0x1D670, 0x1D68A, 0x1D7F6},
}

// texHoles are the letters that Unicode had before it had the alphabets.
var texHoles = map[string]map[rune]rune{
	"double": {'C': 'ℂ', 'H': 'ℍ', 'N': 'ℕ', 'P': 'ℙ', 'Q': 'ℚ', 'R': 'ℝ', 'Z': 'ℤ'},
	"script": {
		'B': 'ℬ', 'E': 'ℰ', 'F': 'ℱ', 'H': 'ℋ', 'I': 'ℐ', 'L': 'ℒ', 'M': 'ℳ', 'R': 'ℛ', 'e': 'ℯ', 'g': 'ℊ', 'o': 'ℴ',
	},
	"fraktur": {'C': 'ℭ', 'H': 'ℌ', 'I': 'ℑ', 'R': 'ℜ', 'Z': 'ℨ'},
}

var texDelimiters = map[string]string{
	`\{`: "{", `\}`: "}", `\lbrace`: "{", `\rbrace`: "}", `\langle`: "⟨", `\rangle`: "⟩", `\lfloor`: "⌊", `\rfloor`: "⌋",
	`\lceil`: "⌈", `\rceil`: "⌉", `\|`: "‖", `\vert`: "|", `\Vert`: "‖", `\lvert`: "|", `\rvert`: "|", `\lVert`: "‖", `\rVert`: "‖",
	`\uparrow`: "↑", `\downarrow`: "↓", `\backslash`: "\\",
}

// texEnvironments are tables of formulas, with what stands around them and how their columns are aligned.
var texEnvironments = map[string]struct{ open, close, align string }{
	"matrix": {}, "pmatrix": {"(", ")", ""}, "bmatrix": {"[", "]", ""}, "Bmatrix": {"{", "}", ""}, "vmatrix": {"|", "|", ""},
	"Vmatrix": {"‖", "‖", ""}, "smallmatrix": {}, "array": {}, "cases": {"{", "", "left left"}, "aligned": {"", "", "right left"},
	"align": {"", "", "right left"}, "split": {"", "", "right left"}, "gathered": {}, "gather": {}, "equation": {},
}
