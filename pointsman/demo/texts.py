"""Healthy text that never says the same twice, and the six ways in which a sick model repeats itself.

Pure given a `random.Random`. The words are put together by grammar, not by a model: enough variety that no rule of the
detector sees repetition, in Chinese and in English.
"""

from random import Random

_ZH_WHO = [
    "老船长",
    "图书管理员",
    "山里的药农",
    "新来的工程师",
    "卖花的姑娘",
    "退休教师",
    "夜班护士",
    "街角的鞋匠",
    "气象员",
    "修表的师傅",
    "养蜂人",
    "摄影师",
    "年轻的厨师",
    "邮递员",
    "木偶艺人",
]
_ZH_WHEN = [
    "清晨",
    "雨停以后",
    "去年冬天",
    "傍晚时分",
    "集市散去时",
    "第一场雪落下前",
    "周末",
    "午后",
    "天还没亮",
    "旅途将尽时",
    "假期里",
    "深夜",
]
_ZH_WHERE = [
    "码头边",
    "半山腰",
    "旧书店里",
    "火车站台上",
    "茶馆角落",
    "麦田尽头",
    "灯塔下",
    "河对岸",
    "厨房里",
    "天文台",
    "小巷深处",
    "渡口",
]
_ZH_DID = [
    "整理一叠泛黄的地图",
    "记录风向与潮水",
    "给远方的朋友写信",
    "修好了停摆多年的座钟",
    "教孩子辨认星座",
    "试做一道失传的点心",
    "听人讲起南方的故事",
    "画下屋檐的轮廓",
    "数着来往的船只",
    "打听去海边的路",
    "收好晒干的草药",
    "把旧照片按年份排好",
    "调试一台收音机",
    "学唱一支山歌",
    "栽下一排小树",
]
_ZH_THEN = [
    "心里渐渐明白了许多事",
    "这才发现时间过得飞快",
    "大家都说这很难得",
    "后来成了镇上的谈资",
    "于是决定多留几天",
    "连最挑剔的客人也点头",
    "谁也没料到结果这样好",
    "从此养成了新的习惯",
    "至今仍有人提起",
    "事情便有了转机",
]
_EN_WHO = [
    "the harbour pilot",
    "a retired teacher",
    "our youngest engineer",
    "the night nurse",
    "a travelling cook",
    "the clockmaker",
    "her neighbour",
    "the museum guard",
    "a patient gardener",
    "the ferry captain",
    "an amateur astronomer",
    "the postman",
]
_EN_DID = [
    "sorted a drawer of old charts",
    "wrote down the wind and the tide",
    "repaired a radio from the attic",
    "planted a row of pear trees",
    "taught the children to read clouds",
    "baked bread with wild herbs",
    "measured the height of the tower",
    "painted the roofs across the river",
    "learned a song from the hills",
    "counted the boats coming home",
    "copied a letter found in a book",
    "mended nets by lamplight",
]
_EN_WHEN = [
    "before sunrise",
    "after the rain",
    "late in autumn",
    "on a quiet Sunday",
    "during the long strike",
    "between two trains",
    "when the market closed",
    "last winter",
    "at noon",
    "in the first warm week",
]
_EN_THEN = [
    "and nobody asked why",
    "which surprised everyone at the table",
    "so the plan changed once more",
    "though the result came years later",
    "and that was reason enough to stay",
    "while the kettle sang on the stove",
    "because time was short",
    "and the story spread from door to door",
]

LOOPS = {
    "stuck": {"zh": "你！", "en": "you! "},
    "phrase_loop": {"zh": "也是新的开始，", "en": "and the new day began, "},
    "sentence_loop": {
        "zh": "这座城市有着悠久的历史和灿烂的文化，吸引了无数游客前来参观。",
        "en": "The city has a long history and a rich culture that draws visitors from all over the world. ",
    },
    "paragraph_loop": {
        "zh": "首先，我们需要明确目标，把任务拆成小步骤。\n其次，要合理安排时间，避免拖延。\n最后，定期回顾进展，及时调整计划。\n\n",
        "en": "First, set a clear goal and split the work into steps.\nThen plan your time and avoid delay.\nAt the end, look back and adjust.\n\n",
    },
}


def sentence(rng: Random, language: str) -> str:
    """One new sentence."""
    if language == "zh":
        parts = (rng.choice(_ZH_WHEN), rng.choice(_ZH_WHO), "在", rng.choice(_ZH_WHERE), rng.choice(_ZH_DID))
        return "".join(parts) + "，" + rng.choice(_ZH_THEN) + "。"
    who, did, when, then = (rng.choice(words) for words in (_EN_WHO, _EN_DID, _EN_WHEN, _EN_THEN))
    return f"{when[0].upper()}{when[1:]} {who} {did}, {then}. "


def healthy(rng: Random, language: str, sentences: int = 8) -> str:
    """A reply of `sentences` sentences, none of them twice."""
    seen: dict[str, None] = {}
    while len(seen) < sentences:
        seen[sentence(rng, language)] = None
    return "".join(seen).strip()


def loop(behaviour: str, rng: Random, language: str, chars: int = 2400) -> str:
    """A healthy sentence, then the loop of that name, about `chars` characters long."""
    unit = LOOPS[behaviour][language]
    return sentence(rng, language) + unit * max(8, chars // len(unit))


def deltas(text: str, rng: Random, language: str) -> list[str]:
    """The text cut as a model's tokens would cut it."""
    out, at = [], 0
    while at < len(text):
        step = rng.randint(1, 3) if language == "zh" else rng.randint(2, 7)
        out.append(text[at : at + step])
        at += step
    return out
